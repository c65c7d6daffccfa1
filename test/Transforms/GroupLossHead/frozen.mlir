// Of a frozen weight the head gives no gradient, and holds nothing for one, neither the lower halves of an accumulator nor
// what is multiplied to be added there: 64 bytes of losses, 2048 of logits, whose rows of 6 lie 64 apart, 128 of tiles.
// RUN: llmmem-opt %s --group-loss-head=granule=4 --annotate-memory | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK: %[[LOSS:.*]], %[[DX:.*]] = llm.loss_head %{{.*}}, %{{.*}}, %{{.*}} layout(out_in)
// CHECK-SAME: workspace = 2240>
// CHECK-SAME: -> (tensor<f32>, tensor<2x8x4xbf16>)
// CHECK-NEXT: return %[[LOSS]], %[[DX]]
func.func @step(%x: tensor<2x8x4xbf16>, %w: tensor<6x4xbf16> {llm.frozen, llm.role = "param"}, %t: tensor<2x8xi32>)
    -> (tensor<f32>, tensor<2x8x4xbf16>) {
  %logits = llm.linear %x, %w layout(out_in) {llm.phase = "forward"}
    : (tensor<2x8x4xbf16>, tensor<6x4xbf16>) -> tensor<2x8x6xbf16>
  %loss, %lse = llm.cross_entropy %logits, %t {llm.name = "loss", llm.phase = "forward"}
    : (tensor<2x8x6xbf16>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  %one = llm.fill {value = 1.0 : f64, llm.phase = "backward"} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one {llm.phase = "backward"}
    : (tensor<2x8x6xbf16>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>) -> tensor<2x8x6xbf16>
  %dx = llm.linear %dlogits, %w layout(in_out) {llm.phase = "backward"}
    : (tensor<2x8x6xbf16>, tensor<6x4xbf16>) -> tensor<2x8x4xbf16>
  return %loss, %dx : tensor<f32>, tensor<2x8x4xbf16>
}
