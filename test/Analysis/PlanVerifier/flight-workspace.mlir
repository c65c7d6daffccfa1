// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %y is written where the all-reduce has its workspace.
func.func @step(%p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 768 : i64} {
  // expected-note @below {{which starts here}}
  %sum = llm.all_reduce %p over ["dp"] {llm.offsets = array<i64: 0>, llm.started, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  // expected-error @below {{[flight] overwrites bytes that 'llm.all_reduce' has in flight}}
  %y = llm.gelu %p {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %s = llm.wait %sum {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %s, %y : tensor<64xf32>, tensor<64xf32>
}
