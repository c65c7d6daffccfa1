// RUN: llmmem-opt --plan-checkpoints='policy=none emit-problem=%t' %s -o /dev/null
// RUN: FileCheck --input-file=%t %s

// The update of %p stands inside the backward. What the backward does before it runs once, and the update waits for
// both of its ops by order tokens (values of 0 bytes): no clone can read %p after it was overwritten.
// CHECK: "name": "order"
// CHECK: "name": "llm.gelu",
// CHECK-NOT: "recompute": false
// CHECK: "name": "llm.gelu_grad"
// CHECK-SAME: "recompute": false
// CHECK: "name": "llm.mul"
// CHECK-SAME: "recompute": false
// CHECK: "name": "llm.sgd"
// CHECK-SAME: "recompute": false
// CHECK: "name": "llm.silu_grad"
// CHECK-SAME: "recompute": false
func.func @step(%x: tensor<64xf32>, %dy: tensor<64xf32>, %p: tensor<64xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = llm.gelu %x {llm.phase = "forward"} : tensor<64xf32>
  %1 = llm.gelu_grad %0, %dy {llm.phase = "backward"} : tensor<64xf32>
  %2 = llm.mul %1, %p {llm.phase = "backward"} : tensor<64xf32>
  %3 = llm.sgd %p, %2, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = llm.silu_grad %x, %2 {llm.phase = "backward"} : tensor<64xf32>
  return %4, %3 : tensor<64xf32>, tensor<64xf32>
}
