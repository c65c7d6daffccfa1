// RUN: llmmem-opt --apply-checkpoints %s | FileCheck %s

// The schedule runs op 0 again just before the op that reads it; later readers see the second run.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64xf32>
// CHECK-NOT: llm.schedule
// CHECK: %[[FIRST:.+]] = llm.gelu %[[X]] {llm.id = 0 : i64}
// CHECK-NEXT: %[[A:.+]] = llm.silu %[[FIRST]] :
// CHECK-NEXT: %[[AGAIN:.+]] = llm.gelu %[[X]] {llm.clone_of = 0 : i64, llm.instance = 1 : i64}
// CHECK-NEXT: llm.mul %[[A]], %[[AGAIN]]
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0, 1, 0, 2>} {
  %0 = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  %1 = llm.silu %0 {llm.id = 1 : i64} : tensor<64xf32>
  %2 = llm.mul %1, %0 {llm.id = 2 : i64} : tensor<64xf32>
  return %2 : tensor<64xf32>
}
