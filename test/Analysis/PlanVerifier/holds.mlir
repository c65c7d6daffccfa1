// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// A plan that keeps every rule: two buffers of 256 bytes, the second in place over the first.
// 256 resident + 256 in the arena.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64, llm.budget = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %1 : tensor<64xf32>
}
