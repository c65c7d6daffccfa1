// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Offset -1 says that the bytes are a donated argument's; %x is not donated.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 0 : i64, llm.peak = 256 : i64} {
  // expected-error @below {{[argument] result 0 has offset -1, but takes over no donated argument's bytes}}
  %0 = llm.gelu %x {llm.offsets = array<i64: -1>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
