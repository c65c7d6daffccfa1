// A rank's part of a fill is a smaller fill. It is no op of ranks, so that micro-batches can take their rows of it.
// RUN: llmmem-opt --parallelize=mesh=dp=2 %s | FileCheck %s
// RUN: llmmem-opt --parallelize=mesh=dp=2 --split-micro-batches=count=2 %s | FileCheck %s --check-prefix=MICRO

!x = tensor<4x3xf32>
// CHECK-LABEL: func.func @loss(
// CHECK-NOT: llm.part
// CHECK: llm.fill {{.*}} : tensor<2x3xf32>
// MICRO: llm.fill {{.*}} : tensor<1x3xf32>
func.func @loss(%x: !x {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"}) -> tensor<f32> {
  %zeros = llm.fill {value = 0.0 : f64} : !x
  // CHECK: llm.concat {{.*}} -> tensor<2x6xf32>
  %wide = llm.concat %x, %zeros : (!x, !x) -> tensor<4x6xf32>
  %loss, %lse = llm.cross_entropy %wide, %t : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}
