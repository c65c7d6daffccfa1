// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>} {
  %0 = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  // expected-error @below {{is missing from 'llm.schedule'}}
  %1 = llm.silu %0 {llm.id = 1 : i64} : tensor<64xf32>
  return %1 : tensor<64xf32>
}
