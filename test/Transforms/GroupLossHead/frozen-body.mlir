// Where the body is frozen as a whole, no trained parameter reaches x: the head gives the weight's gradient alone, computes and
// holds nothing for x's, and works in chunks like any other.
// RUN: llmmem-opt %s --group-loss-head=granule=4 | FileCheck %s
// RUN: llmmem-opt %s --checkpoint-policy=none --loss-chunk=512 -o %t 2>&1 | FileCheck %s --check-prefix=CHUNK --implicit-check-not=warning

// CHECK-LABEL: func.func @step(
// CHECK: %[[LOSS:.*]], %[[DW:.*]] = llm.loss_head %{{.*}}, %{{.*}}, %{{.*}} layout(out_in) {chunk = 1024 : i64, constant_x, granule = 4 : i64
// CHECK-SAME: -> (tensor<f32>, tensor<6x4xf32>)
// CHECK-NEXT: return %[[LOSS]], %[[DW]]
// CHUNK: chunks {{ *}}loss: 512 of 1024 tokens at a time
func.func @step(%x: tensor<2x512x4xf32> {llm.role = "input"}, %w: tensor<6x4xf32> {llm.role = "param"},
                %t: tensor<2x512xi32> {llm.role = "input"}) -> (tensor<f32>, tensor<6x4xf32>) {
  %logits = llm.linear %x, %w layout(out_in) {llm.phase = "forward"}
    : (tensor<2x512x4xf32>, tensor<6x4xf32>) -> tensor<2x512x6xf32>
  %loss, %lse = llm.cross_entropy %logits, %t {llm.name = "loss", llm.phase = "forward"}
    : (tensor<2x512x6xf32>, tensor<2x512xi32>) -> (tensor<f32>, tensor<2x512xf32>)
  %one = llm.fill {value = 1.0 : f64, llm.phase = "backward"} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one {llm.phase = "backward"}
    : (tensor<2x512x6xf32>, tensor<2x512xf32>, tensor<2x512xi32>, tensor<f32>) -> tensor<2x512x6xf32>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in) {llm.phase = "backward"}
    : (tensor<2x512x4xf32>, tensor<2x512x6xf32>) -> tensor<6x4xf32>
  return %loss, %dw : tensor<f32>, tensor<6x4xf32>
}
