// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Two ops take 2001 ns each.
// expected-error @below {{[certificate] claims that every plan costs 4003 ns, but its ops cost 4002}}
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64, llm.certificate = {cost_lower_bound_ns = 4003 : i64}} {
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.cost = #llm.cost<flops = 256, bytes = 512, ns = 2001, workspace = 0>, llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
