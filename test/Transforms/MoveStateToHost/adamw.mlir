// Moments come to the device for their update and leave again. Scalars stay: they are what the update is told. At 25 GB/s and 10 ns
// a copy of 1,024 bytes takes 51 ns.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=10" %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --move-state-to-host="link=25GB/s link-latency=10" --plan-checkpoints=policy=none --apply-checkpoints --start-host-copies --verify-plan %s | FileCheck %s --check-prefix=PLANNED
// RUN: not llmmem-opt --move-state-to-host=device=cpu %s 2>&1 | FileCheck %s --check-prefix=NO-LINK

// The parameter, its gradient and two scalars are resident on the device, 2,056 bytes; the arena holds both moments while they are updated.
// PLANNED: llm.arena = 2048 : i64, {{.*}}llm.peak = 4104 : i64
// PLANNED-NOT: llm.host_arena

// NO-LINK: error: has values on the host (--host-budget, --optimizer-on), and the table of 'cpu' has no link there; say what it moves: --link=25GB/s

// CHECK: func.func @step(%[[P:[a-z0-9]+]]: tensor<256xf32> {{.*}}, %[[M:[a-z0-9]+]]: tensor<256xf32, #llm.host> {{.*}}llm.role = "optimizer_state"}, %[[V:[a-z0-9]+]]: tensor<256xf32, #llm.host> {{.*}} -> (tensor<256xf32>, tensor<256xf32, #llm.host>, tensor<256xf32, #llm.host>)
func.func @step(%p: tensor<256xf32> {llm.donated = 0 : i64, llm.role = "param"}, %g: tensor<256xf32> {llm.role = "gradient"},
    %m: tensor<256xf32> {llm.donated = 1 : i64, llm.name = "p.m", llm.role = "optimizer_state"},
    %v: tensor<256xf32> {llm.donated = 2 : i64, llm.name = "p.v", llm.role = "optimizer_state"},
    %lr: tensor<f32>, %t: tensor<i32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  // CHECK: %[[M0:.*]] = llm.copy_down %[[M]] {llm.cost = #llm.cost<flops = 0, bytes = 1024, ns = 51, workspace = 0>, llm.name = "p.m", llm.phase = "update"}
  // CHECK: %[[V0:.*]] = llm.copy_down %[[V]]
  // CHECK: %[[NEW:.*]], %[[M1:.*]], %[[V1:.*]] = llm.adamw %[[P]], %{{.*}}, %[[M0]], %[[V0]]
  %p1, %m1, %v1 = llm.adamw %p, %g, %m, %v, %lr, %t {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, llm.phase = "update", weight_decay = 0.1 : f64}
     : (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<f32>, tensor<i32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
  // CHECK-DAG: %[[MUP:.*]] = llm.copy_up %[[M1]] into(%[[M]])
  // CHECK-DAG: %[[VUP:.*]] = llm.copy_up %[[V1]] into(%[[V]])
  // CHECK: return %[[NEW]], %[[MUP]], %[[VUP]]
  return %p1, %m1, %v1 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
