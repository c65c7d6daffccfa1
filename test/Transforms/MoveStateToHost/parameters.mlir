// A parameter comes for each op that reads it, in front of the reader before it but in no other phase, and its new value leaves; what takes
// longer to send for than to be sent stays. At 25 GB/s and 50 ns a copy of 16,384 bytes takes 706 ns, and one of 256 bytes is not worth it.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=50 optimizer=false parameters=true" %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=50 optimizer=false parameters=true" --plan-checkpoints=policy=none --apply-checkpoints --start-host-copies --verify-plan %s | FileCheck %s --check-prefix=PLANNED

// Resident on the device are %x, %g, the bias and the learning rate, 16,384 + 16,384 + 256 + 4 bytes; the arena holds the two copies
// and y, then the second copy, y and dx.
// PLANNED: llm.arena = 49152 : i64, {{.*}}llm.peak = 82180 : i64

// CHECK: func.func @step(%{{.*}}: tensor<64x64xf32>, %[[W:[a-z0-9]+]]: tensor<64x64xf32, #llm.host> {{.*}}llm.role = "param"}, %[[B:[a-z0-9]+]]: tensor<64xf32> {{.*}}, %[[G:[a-z0-9]+]]: tensor<64x64xf32>, %{{.*}}: tensor<f32>) -> (tensor<64x64xf32, #llm.host>, tensor<64x64xf32>)
func.func @step(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {llm.donated = 0 : i64, llm.name = "w", llm.role = "param"},
    %b: tensor<64xf32> {llm.name = "b", llm.role = "param"}, %g: tensor<64x64xf32>, %lr: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // CHECK-NEXT: %[[FORWARD:.*]] = llm.copy_down %[[W]] {llm.block = 3 : i64, llm.cost = #llm.cost<flops = 0, bytes = 16384, ns = 706, workspace = 0>, llm.name = "w", llm.phase = "forward"}
  // CHECK-NEXT: llm.linear %{{.*}}, %[[FORWARD]] bias(%[[B]])
  %y = llm.linear %x, %w bias(%b) layout(in_out) {llm.block = 3 : i64, llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: %[[BACKWARD:.*]] = llm.copy_down %[[W]] {{.*}}llm.phase = "backward"}
  // CHECK-NEXT: llm.linear %{{.*}}, %[[BACKWARD]]
  %dx = llm.linear %y, %w layout(in_out) {llm.phase = "backward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: %[[UPDATE:.*]] = llm.copy_down %[[W]] {{.*}}llm.phase = "update"}
  // CHECK-NEXT: %[[NEW:.*]] = llm.sgd %[[UPDATE]], %[[G]]
  %w1 = llm.sgd %w, %g, %lr {llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[NEW]] into(%[[W]])
  // CHECK-NEXT: return %[[UP]]
  return %w1, %dx : tensor<64x64xf32>, tensor<64x64xf32>
}
