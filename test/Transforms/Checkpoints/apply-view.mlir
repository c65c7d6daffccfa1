// RUN: llmmem-opt --apply-checkpoints %s | FileCheck %s

// A view is no op of the schedule: it is repeated over the run that its reader sees.
// CHECK: %[[FIRST:.+]] = llm.gelu
// CHECK: %[[VIEW:.+]] = llm.reshape %[[FIRST]]
// CHECK: llm.silu %[[VIEW]]
// CHECK: %[[AGAIN:.+]] = llm.gelu {{.*}}llm.instance = 1
// CHECK: %[[OTHER:.+]] = llm.reshape %[[AGAIN]]
// CHECK: llm.mul %{{.+}}, %[[OTHER]]
func.func @step(%x: tensor<64xf32>) -> tensor<2x32xf32> attributes {llm.schedule = array<i64: 0, 1, 0, 2>} {
  %0 = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  %v = llm.reshape %0 : tensor<64xf32> -> tensor<2x32xf32>
  %1 = llm.silu %v {llm.id = 1 : i64} : tensor<2x32xf32>
  %2 = llm.mul %1, %v {llm.id = 2 : i64} : tensor<2x32xf32>
  return %2 : tensor<2x32xf32>
}
