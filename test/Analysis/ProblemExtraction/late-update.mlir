// RUN: llmmem-opt --plan-checkpoints='policy=none emit-problem=%t' %s -o /dev/null
// RUN: FileCheck --input-file=%t %s

// The update stands last and its gradient is resident: a backward op before it may run again, and the update waits for
// who reads %p.
// CHECK: "name": "order"
// CHECK: "name": "llm.gelu_grad"
// CHECK-NOT: "recompute": false
// CHECK: "name": "llm.sum_rows"
// CHECK-SAME: "recompute": false
// CHECK: "name": "llm.sgd"
// CHECK-SAME: "recompute": false
func.func @step(%x: tensor<2x64xf32>, %dy: tensor<2x64xf32>, %p: tensor<64xf32> {llm.donated = 0 : i64},
                %g: tensor<64xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = llm.gelu %p {llm.phase = "forward"} : tensor<64xf32>
  %1 = llm.gelu_grad %x, %dy {llm.phase = "backward"} : tensor<2x64xf32>
  %2 = llm.sum_rows %1 into(%g) {llm.phase = "backward"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = llm.sgd %p, %2, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %3, %2 : tensor<64xf32>, tensor<64xf32>
}
