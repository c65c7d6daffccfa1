// Without a budget, too, an arena and what is resident must together be counted in 64 bits.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[size] needs 256 resident bytes, 0 to align them and an arena of 9223372036854775552, together more than 2^63; plan the model again}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 9223372036854775552 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 9223372036854775296>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
