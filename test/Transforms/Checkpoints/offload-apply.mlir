// Copies have the numbers after those of the ops: of op 0 result 0 goes to the host as 3 and comes back as 4. Its later readers read what
// came back. A second host-to-device copy carries an instance, or CSE would merge it with the first.
// RUN: llmmem-opt --apply-checkpoints --cse %s | FileCheck %s -enable-var-scope

// CHECK: func.func @step
// CHECK-NOT: llm.copies
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.copies = array<i64: 0, 0, 21, 42>, llm.schedule = array<i64: 0, 3, 1, 4, 2, 4>} {
  // CHECK: %[[A:.*]] = llm.gelu
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[A]] {llm.block = 3 : i64, llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 21, workspace = 0>, llm.name = "a on the host"}
  %a = llm.gelu %x {llm.block = 3 : i64, llm.id = 0 : i64, llm.name = "a"} : tensor<64xf32>
  // CHECK-NEXT: llm.silu %[[A]]
  %b = llm.silu %a {llm.id = 1 : i64} : tensor<64xf32>
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[UP]] {llm.block = 3 : i64, llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 42, workspace = 0>, llm.name = "a"}
  // CHECK-NEXT: llm.mul %{{.*}}, %[[DOWN]]
  %c = llm.mul %b, %a {llm.id = 2 : i64} : tensor<64xf32>
  // CHECK-NEXT: llm.copy_down %[[UP]] {{.*}}llm.instance = 1 : i64
  // CHECK-NEXT: return
  return %a, %c : tensor<64xf32>, tensor<64xf32>
}
