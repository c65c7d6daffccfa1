// RUN: llmmem-opt --plan-arena --verify-diagnostics %s

// expected-error @below {{needs 256 B of resident buffers and arena, more than the budget of the host of 255 B}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.host_budget = 255 : i64} {
  %u = llm.copy_up %x {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %u {llm.cost = #llm.cost<flops = 0, bytes = 256, ns = 11, workspace = 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
