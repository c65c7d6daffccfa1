// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Where some ops have costs, leaving one out must not hide what the bound is compared with.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64, llm.certificate = {cost_lower_bound_ns = 4003 : i64}} {
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[certificate] has no 'llm.cost', so that 'cost_lower_bound_ns' cannot be compared}}
  %1 = llm.silu %0 {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
