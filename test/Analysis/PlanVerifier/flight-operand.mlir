// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %y is written where %x stands, which the all-reduce is still sending.
func.func @step(%p: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1024 : i64} {
  %x = llm.gelu %p {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{which starts here}}
  %sum = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 256>, llm.started, llm.workspace = array<i64: 512, 256>} : tensor<64xf32>
  // expected-error @below {{[flight] overwrites bytes that 'llm.all_reduce' has in flight; expected its 'llm.wait' before this op}}
  %y = llm.gelu %p {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %s = llm.wait %sum {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %s, %y : tensor<64xf32>, tensor<64xf32>
}
