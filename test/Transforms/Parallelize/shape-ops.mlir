// Patches of images split along the batch where they are cut, in whichever place of the order it stands then; of a range of
// columns all else splits.
// RUN: llmmem-opt --parallelize=mesh=dp=2 %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<2x6x8xf32>
func.func @loss(%x: tensor<4x6x8xf32> {llm.role = "input"}, %t: tensor<4x6xi32> {llm.role = "input"},
                %w: tensor<5x12xf32> {llm.role = "param"}) -> tensor<f32> {
  // CHECK: llm.transpose {{.*}} : tensor<2x6x8xf32> -> tensor<6x2x8xf32>
  %a = llm.transpose %x {order = array<i64: 1, 0, 2>} : tensor<4x6x8xf32> -> tensor<6x4x8xf32>
  // CHECK: llm.transpose {{.*}} : tensor<6x2x8xf32> -> tensor<2x6x8xf32>
  %b = llm.transpose %a {order = array<i64: 1, 0, 2>} : tensor<6x4x8xf32> -> tensor<4x6x8xf32>
  // CHECK: llm.slice {{.*}} : tensor<2x6x8xf32> -> tensor<2x6x3xf32>
  %c = llm.slice %b {begin = 2 : i64} : tensor<4x6x8xf32> -> tensor<4x6x3xf32>
  // CHECK: llm.pad {{.*}} : tensor<2x6x3xf32> -> tensor<2x6x12xf32>
  %d = llm.pad %c {begin = 4 : i64} : tensor<4x6x3xf32> -> tensor<4x6x12xf32>
  %y = llm.linear %d, %w layout(out_in) : (tensor<4x6x12xf32>, tensor<5x12xf32>) -> tensor<4x6x5xf32>
  %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x6x5xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}
