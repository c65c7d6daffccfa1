// x, w and v hold 3,072 bytes throughout, a 2,048, h 4,096 and r 2,048: under 10 kB a cannot stay while h and r are held. At 2 GB/s a
// goes to the host and comes back while the products run, and the step takes what it takes without a budget but for the wait; running gelu again
// takes longer than that on this table, and without the host it does.
// RUN: llmmem-opt --plan-checkpoints="budget=10kB host-budget=2048 link=2GB/s" %s | FileCheck %s --check-prefixes=PLAN
// RUN: llmmem-opt --plan-checkpoints="budget=10kB host-budget=2048 link=2GB/s" --apply-checkpoints --start-host-copies --verify-plan %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --plan-checkpoints="budget=10kB" %s | FileCheck %s --check-prefixes=ALONE
// RUN: not llmmem-opt --plan-checkpoints="budget=10kB host-budget=2047 link=2GB/s" %s 2>&1 | FileCheck %s --check-prefixes=SMALL
// RUN: not llmmem-opt --plan-checkpoints="budget=10kB host-budget=2048 device=cpu" %s 2>&1 | FileCheck %s --check-prefixes=NO-LINK

// PLAN: llm.copies = array<i64: 0, 0, 1024, 1024>
// PLAN-SAME: llm.host_budget = 2048 : i64
// PLAN-SAME: llm.schedule = array<i64: 0, {{.*}}4
// PLAN: llm.decision = ["offload"]
// ALONE-NOT: llm.copies
// ALONE: llm.schedule = array<i64: 0, 1, 2, 0, 3>
// SMALL: error: --host-budget: the host's budget of 2047 bytes holds none of the values that may leave the device; the smallest has 2048 bytes, so give at least that
// NO-LINK: error: has values on the host (--host-budget, --optimizer-on), and the table of 'cpu' has no link there; say what it moves: --link=25GB/s

// CHECK: llm.host_arena = 2048
// CHECK: %[[A:.*]] = llm.gelu
// CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[A]] {{.*}}llm.started
// CHECK: llm.linear %[[A]]
// CHECK: llm.wait %[[UP]]
// CHECK: %[[DOWN:.*]] = llm.copy_down
// CHECK: %[[BACK:.*]] = llm.wait %[[DOWN]]
// CHECK-NEXT: llm.mul %{{.*}}, %[[BACK]]
func.func @step(%x: tensor<64x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<64x8xf32> {
  %a = llm.gelu %x {llm.phase = "forward"} : tensor<64x8xf32>
  %h = llm.linear %a, %w layout(in_out) {llm.phase = "forward"} : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  %r = llm.linear %h, %v layout(in_out) {llm.phase = "forward"} : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  %d = llm.mul %r, %a {llm.phase = "backward"} : tensor<64x8xf32>
  return %d : tensor<64x8xf32>
}
