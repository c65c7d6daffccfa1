// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Buffers of arguments begin on multiples of 256: 260 bytes take 512. With 260 of arena that is 772.
// expected-error @below {{[budget] needs 260 resident bytes, 252 to align them and an arena of 260, together more than the budget of 771}}
func.func @step(%x: tensor<65xf32>) -> tensor<65xf32> attributes {llm.arena = 260 : i64, llm.peak = 520 : i64, llm.budget = 771 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<65xf32>
  return %0 : tensor<65xf32>
}
