// The update runs on the host: its gradient is copied to the host, the new parameter is copied to the device into the old one's bytes, and state and the numbers that
// updates alone read stay on the host. With a master copy the parameter is not read, and the gradient stands in its place. At 25 GB/s and 10 ns a
// copy of 512 bytes takes 31 ns; at 38 bytes a ns the update, which reads and writes 2 * 512 + 3 * 1024 + 8 and 512 + 3 * 1024 bytes, takes 203.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=10 updates=true" %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=10 updates=true" --annotate-memory --plan-checkpoints=policy=none --apply-checkpoints --start-host-copies --verify-plan %s | FileCheck %s --check-prefix=PLANNED

// The device holds the parameter and its gradient, 1,024 bytes, and nothing else; the host's arena the gradient, whose bytes the new parameter
// takes over.
// PLANNED: llm.arena = 0 : i64, {{.*}}llm.host_arena = 512 : i64, {{.*}}llm.peak = 1024 : i64
// PLANNED: llm.copy_up %{{.*}} {{.*}}llm.offsets = array<i64: 0>, {{.*}}llm.started
// PLANNED: llm.wait
// PLANNED: llm.adamw {{.*}}llm.cost = #llm.cost<flops = 3584, bytes = 7688, ns = 203, workspace = 0>, {{.*}}llm.offsets = array<i64: 0, -1, -1, -1>, {{.*}}llm.started
// PLANNED: llm.wait
// PLANNED: llm.copy_down %{{.*}} into(%{{.*}}) {{.*}}llm.offsets = array<i64: -1>, {{.*}}llm.started

// CHECK: func.func @step(%[[P:[a-z0-9]+]]: tensor<256xbf16> {{.*}}, %[[G:[a-z0-9]+]]: tensor<256xbf16> {{.*}}, %[[M:[a-z0-9]+]]: tensor<256xf32, #llm.host> {{.*}}, %[[V:[a-z0-9]+]]: tensor<256xf32, #llm.host> {{.*}}, %[[W:[a-z0-9]+]]: tensor<256xf32, #llm.host> {{.*}}, %[[LR:[a-z0-9]+]]: tensor<f32, #llm.host>, %[[T:[a-z0-9]+]]: tensor<i32, #llm.host>) -> (tensor<256xbf16>, tensor<256xf32, #llm.host>, tensor<256xf32, #llm.host>, tensor<256xf32, #llm.host>)
func.func @step(%p: tensor<256xbf16> {llm.donated = 0 : i64, llm.name = "p", llm.role = "param"}, %g: tensor<256xbf16> {llm.name = "p.gradient", llm.role = "gradient"},
    %m: tensor<256xf32> {llm.donated = 1 : i64, llm.name = "p.m", llm.role = "optimizer_state"},
    %v: tensor<256xf32> {llm.donated = 2 : i64, llm.name = "p.v", llm.role = "optimizer_state"},
    %w: tensor<256xf32> {llm.donated = 3 : i64, llm.name = "p.master", llm.role = "optimizer_state"},
    %lr: tensor<f32>, %t: tensor<i32>) -> (tensor<256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[G]] {llm.cost = #llm.cost<flops = 0, bytes = 512, ns = 31, workspace = 0>, llm.name = "p.gradient", llm.phase = "update"}
  // CHECK-NEXT: %[[NEW:.*]], %[[M1:.*]], %[[V1:.*]], %[[W1:.*]] = llm.adamw %[[UP]], %[[UP]], %[[M]], %[[V]], %[[LR]], %[[T]] master(%[[W]])
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[NEW]] into(%[[P]]) {llm.cost = #llm.cost<flops = 0, bytes = 512, ns = 31, workspace = 0>, llm.name = "p", llm.phase = "update"}
  // CHECK-NEXT: return %[[DOWN]], %[[M1]], %[[V1]], %[[W1]]
  %p1, %m1, %v1, %w1 = llm.adamw %p, %g, %m, %v, %lr, %t master(%w) {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, llm.phase = "update", weight_decay = 0.1 : f64}
     : (tensor<256xbf16>, tensor<256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<f32>, tensor<i32>, tensor<256xf32>)
    -> (tensor<256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
  return %p1, %m1, %v1, %w1 : tensor<256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
