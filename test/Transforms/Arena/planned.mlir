// A step that a plan has placed keeps its places: packed anew the values would stand at 0 and 256.
// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// CHECK: llm.arena = 768
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: 512>
// CHECK: llm.silu {{.*}}llm.offsets = array<i64: 256>
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 768 : i64, llm.peak = 768 : i64, llm.policy = "none"} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 512>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %2 = llm.mul %0, %1 {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %2 : tensor<64xf32>
}
