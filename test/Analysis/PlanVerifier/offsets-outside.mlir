// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[offsets] ends at byte 512, outside the arena of 256}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
