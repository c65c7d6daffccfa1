// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[peak] claims a peak of 511 bytes, but holds 512}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 511 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
