// Of three parameters without master copies, each of which goes to the host with its gradient: an update stands after the next gradient's copy, and
// its parameter returns after the next update, so that all of them may run at once. The norm of all gradients goes to the host once.
// RUN: llmmem-opt --move-state-to-host="link=25GB/s updates=true" %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --move-state-to-host="link=25GB/s updates=true" --annotate-memory --plan-checkpoints=policy=none --apply-checkpoints --start-host-copies --verify-plan %s | FileCheck %s --check-prefix=PLANNED

// The device holds x, the parameters, their gradients, the norm and what it works in, 3 sums: 4 * 256 + 3 * 256 + 4 + 12 bytes. The host's arena
// holds the gradients and the parameters, 6 * 256 bytes, and the norm: nothing there waits for the bytes of an update.
// PLANNED: llm.arena = 1036 : i64, {{.*}}llm.host_arena = 1540 : i64, {{.*}}llm.peak = 1808 : i64

// CHECK: func.func @step(
func.func @step(%x: tensor<64xf32>, %a: tensor<64xf32> {llm.donated = 0 : i64, llm.name = "a", llm.role = "param"}, %b: tensor<64xf32> {llm.donated = 1 : i64, llm.name = "b", llm.role = "param"},
    %c: tensor<64xf32> {llm.donated = 2 : i64, llm.name = "c", llm.role = "param"}, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK-NEXT: %[[DA:.*]] = llm.gelu
  // CHECK-NEXT: %[[UPA:.*]] = llm.copy_up %[[DA]] {{.*}}llm.name = "a.gradient"
  %da = llm.gelu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[DB:.*]] = llm.silu
  // CHECK-NEXT: %[[UPB:.*]] = llm.copy_up %[[DB]] {{.*}}llm.name = "b.gradient"
  %db = llm.silu %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[DC:.*]] = llm.add
  // CHECK-NEXT: %[[UPC:.*]] = llm.copy_up %[[DC]] {{.*}}llm.name = "c.gradient"
  %dc = llm.add %x, %x {llm.phase = "backward"} : tensor<64xf32>
  // CHECK-NEXT: %[[NORM:.*]] = llm.global_norm
  // CHECK-NEXT: %[[UPN:.*]] = llm.copy_up %[[NORM]]
  %norm = llm.global_norm %da, %db, %dc {llm.phase = "update"} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[A:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "a"
  // CHECK-NEXT: %[[B:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "b"
  // CHECK-NEXT: %[[A1:.*]] = llm.sgd %[[A]], %[[UPA]], %{{.*}} norm(%[[UPN]])
  // CHECK-NEXT: %[[C:.*]] = llm.copy_up %{{.*}} {{.*}}llm.name = "c"
  // CHECK-NEXT: %[[B1:.*]] = llm.sgd %[[B]], %[[UPB]], %{{.*}} norm(%[[UPN]])
  // CHECK-NEXT: %[[DOWNA:.*]] = llm.copy_down %[[A1]] into(%{{.*}}) {{.*}}llm.name = "a"
  // CHECK-NEXT: %[[C1:.*]] = llm.sgd %[[C]], %[[UPC]], %{{.*}} norm(%[[UPN]])
  // CHECK-NEXT: %[[DOWNB:.*]] = llm.copy_down %[[B1]] into(%{{.*}}) {{.*}}llm.name = "b"
  // CHECK-NEXT: %[[DOWNC:.*]] = llm.copy_down %[[C1]] into(%{{.*}}) {{.*}}llm.name = "c"
  // CHECK-NEXT: return %[[DOWNA]], %[[DOWNB]], %[[DOWNC]]
  %a1 = llm.sgd %a, %da, %lr norm(%norm) {clip_norm = 1.0 : f64, llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>) -> tensor<64xf32>
  %b1 = llm.sgd %b, %db, %lr norm(%norm) {clip_norm = 1.0 : f64, llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>) -> tensor<64xf32>
  %c1 = llm.sgd %c, %dc, %lr norm(%norm) {clip_norm = 1.0 : f64, llm.phase = "update", weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>) -> tensor<64xf32>
  return %a1, %b1, %c1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
