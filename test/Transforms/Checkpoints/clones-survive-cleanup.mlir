// RUN: llmmem-opt --apply-checkpoints --cse --canonicalize --cse %s | FileCheck %s

// CSE compares discardable attributes, so no clone is merged with its original or with another run.
// CHECK-COUNT-3: llm.gelu
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0, 1, 0, 2, 0, 3>} {
  %0 = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  %1 = llm.silu %0 {llm.id = 1 : i64} : tensor<64xf32>
  %2 = llm.mul %1, %0 {llm.id = 2 : i64} : tensor<64xf32>
  %3 = llm.mul %2, %0 {llm.id = 3 : i64} : tensor<64xf32>
  return %3 : tensor<64xf32>
}
