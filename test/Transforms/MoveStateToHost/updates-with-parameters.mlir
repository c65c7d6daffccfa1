// A parameter that lies on the host is updated there in its own bytes: its gradient is copied to the host, and nothing is copied back except for the ops that read it.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s parameters=true updates=true" %s | FileCheck %s -enable-var-scope

// CHECK: func.func @step(%{{.*}}: tensor<64x64xf32>, %[[W:[a-z0-9]+]]: tensor<64x64xf32, #llm.host> {{.*}}, %[[LR:[a-z0-9]+]]: tensor<f32, #llm.host>) -> tensor<64x64xf32, #llm.host>
func.func @step(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {llm.donated = 0 : i64, llm.name = "w", llm.role = "param"}, %lr: tensor<f32>) -> tensor<64x64xf32> {
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[W]]
  // CHECK-NEXT: %[[DW:.*]] = llm.linear %{{.*}}, %[[DOWN]]
  %dw = llm.linear %x, %w layout(in_out) {llm.phase = "backward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[DW]]
  // CHECK-NEXT: %[[NEW:.*]] = llm.sgd %[[W]], %[[UP]], %[[LR]]
  // CHECK-NEXT: return %[[NEW]]
  %w1 = llm.sgd %w, %dw, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %w1 : tensor<64x64xf32>
}
