// An arena that ends below 2^63 and what is resident are together more than 64 bits count: no budget holds them.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[budget] needs 256 resident bytes, 0 to align them and an arena of 9223372036854775552, together more than the budget of 1000}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 9223372036854775552 : i64, llm.budget = 1000 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 9223372036854775296>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
