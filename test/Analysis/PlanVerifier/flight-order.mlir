// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The second start is waited for first.
func.func @step(%p: tensor<64xf32>) -> (tensor<128xf32>, tensor<128xf32>) attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1280 : i64} {
  // expected-note @below {{which starts here}}
  %a = llm.all_gather %p over ["dp"] {dimension = 0 : i64, llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<128xf32>
  %b = llm.all_gather %p over ["dp"] {dimension = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 512>, llm.started} : (tensor<64xf32>) -> tensor<128xf32>
  // expected-error @below {{[flight] stands before the wait for what started earlier; expected waits in the order of the starts}}
  %1 = llm.wait %b {llm.offsets = array<i64: 512>} : tensor<128xf32>
  %0 = llm.wait %a {llm.offsets = array<i64: 0>} : tensor<128xf32>
  return %0, %1 : tensor<128xf32>, tensor<128xf32>
}
