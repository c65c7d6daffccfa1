// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// The gradient's two sums and the new parameter lie in arguments: they need no arena.
// CHECK: llm.arena = 0
// CHECK: llm.sum_rows {{.*}}llm.offsets = array<i64: -1>
// CHECK: llm.sum_rows {{.*}}llm.offsets = array<i64: -1>
// CHECK: llm.sgd {{.*}}llm.offsets = array<i64: -1>
func.func @step(%dy: tensor<2x64xf32>, %p: tensor<64xf32> {llm.donated = 0 : i64},
                %g: tensor<64xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = llm.sum_rows %dy into(%g) : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = llm.sum_rows %dy into(%0) : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = llm.sgd %p, %1, %lr {weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %2, %1 : tensor<64xf32>, tensor<64xf32>
}
