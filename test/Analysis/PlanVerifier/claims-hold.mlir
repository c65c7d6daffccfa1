// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// All claims at once, each as high as it may be: two ops of 2001 ns, 256 resident bytes and 512 in the arena.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64, llm.budget = 768 : i64, llm.policy = "budget",
  llm.certificate = {bound = "every op once", cost_lower_bound_ns = 4002 : i64, peak_lower_bound = 768 : i64},
  llm.epilogues = [{choice = "separate", cost_ns = 4002 : i64, peak = 768 : i64, taken},
    {choice = "unshared", cost_ns = 4002 : i64, peak = 1024 : i64},
    {choice = "fused", cost_lower_bound_ns = 4002 : i64, why = "costs more as it is"}]} {
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.bytes = array<i64: 256>, llm.decision = ["keep"], llm.phase = "forward", llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.cost = #llm.cost<flops = 256, bytes = 512, ns = 2001, workspace = 0>, llm.bytes = array<i64: 256>, llm.phase = "backward", llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
