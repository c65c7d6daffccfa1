// A projection, its loss and their gradients become one op; what reads the gradients reads its results.
// RUN: llmmem-opt %s --group-loss-head=granule=4 | FileCheck %s
// RUN: not llmmem-opt %s --group-loss-head=granule=0 2>&1 | FileCheck %s --check-prefix=GRANULE

// GRANULE: error: granule is 0, expected at least 1 token

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x4xf32>, %[[W:.*]]: tensor<6x4xf32>, %[[T:.*]]: tensor<2x8xi32>, %[[ACC:.*]]: tensor<6x4xf32>
// CHECK-NEXT: %[[LOSS:.*]], %[[DX:.*]], %[[DW:.*]] = llm.loss_head %[[X]], %[[W]], %[[T]] into(%[[ACC]]) layout(out_in)
// CHECK-SAME: {chunk = 16 : i64, granule = 4 : i64, ignore_index = -1 : i64, llm.name = "loss", llm.phase = "backward"}
// CHECK-NEXT: %[[SUM:.*]] = llm.sum_rows %[[DX]]
// CHECK-NEXT: return %[[LOSS]], %[[SUM]], %[[DW]]
func.func @step(%x: tensor<2x8x4xf32>, %w: tensor<6x4xf32>, %t: tensor<2x8xi32>, %acc: tensor<6x4xf32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<6x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) {llm.phase = "forward"}
    : (tensor<2x8x4xf32>, tensor<6x4xf32>) -> tensor<2x8x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t {ignore_index = -1 : i64, llm.name = "loss", llm.phase = "forward"}
    : (tensor<2x8x6xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  %one = llm.fill {value = 1.0 : f64, llm.phase = "backward"} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one {ignore_index = -1 : i64, llm.phase = "backward"}
    : (tensor<2x8x6xf32>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>) -> tensor<2x8x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits into(%acc) layout(out_in) {llm.phase = "backward"}
    : (tensor<2x8x4xf32>, tensor<2x8x6xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %dx = llm.linear %dlogits, %w layout(in_out) {llm.phase = "backward"}
    : (tensor<2x8x6xf32>, tensor<6x4xf32>) -> tensor<2x8x4xf32>
  %sum = llm.sum_rows %dx {llm.phase = "backward"} : (tensor<2x8x4xf32>) -> tensor<4xf32>
  return %loss, %sum, %dw : tensor<f32>, tensor<4xf32>, tensor<6x4xf32>
}
