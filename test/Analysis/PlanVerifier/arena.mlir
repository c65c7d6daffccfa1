// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[peak] claims an arena of 512 bytes, but uses 256}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
