// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  // expected-error @below {{[cost] claims 512 FLOPs, 512 bytes moved and 8 of workspace, but has 512, 512 and 0}}
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 8>, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.cost = #llm.cost<flops = 256, bytes = 512, ns = 2001, workspace = 0>, llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
