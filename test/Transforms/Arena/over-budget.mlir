// RUN: llmmem-opt --plan-arena --verify-diagnostics %s

// expected-error @below {{needs 512 B of resident buffers and arena, more than the budget of 500 B}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.budget = 500 : i64} {
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
