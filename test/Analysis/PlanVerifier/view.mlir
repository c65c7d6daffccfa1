// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<2x32xf32> attributes {llm.arena = 512 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[view] is a view at offset 256, but its source stands at 0}}
  %1 = llm.reshape %0 {llm.offsets = array<i64: 256>} : tensor<64xf32> -> tensor<2x32xf32>
  return %1 : tensor<2x32xf32>
}
