// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 384 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[offsets] has offset 128, expected a multiple of 256}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 128>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
