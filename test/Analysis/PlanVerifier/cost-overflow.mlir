// What an op cannot count in 64 bits it calls -1; a claim of -1 is no claim that holds.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%p: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[cost] claims -1 FLOPs, 512 bytes moved and 0 of workspace, expected numbers of 0 or more}}
  %0 = llm.gelu %p {llm.cost = #llm.cost<flops = -1, bytes = 512, ns = 0, workspace = 0>, llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
