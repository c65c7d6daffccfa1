// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// 256 resident bytes and 256 of arena under a budget of 511.
// expected-error @below {{[budget] needs 256 resident bytes, 0 to align them and an arena of 256, together more than the budget of 511}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64, llm.budget = 511 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
