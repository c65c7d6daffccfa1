// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 512 : i64, llm.policy = "none"} {
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[policy] runs again, and policy 'none' recomputes nothing}}
  %1 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %1, %1 : tensor<64xf32>, tensor<64xf32>
}
