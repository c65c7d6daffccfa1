// Waits are for the first start that nothing has waited for yet.
// RUN: llmmem-opt --convert-step-to-kernels --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  %a = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.started, llm.workspace = array<i64: 512, 256>} : tensor<64xf32>
  %b = llm.all_reduce %x over ["dp"] {llm.instance = 1 : i64, llm.offsets = array<i64: 256>, llm.started, llm.workspace = array<i64: 768, 256>} : tensor<64xf32>
  // expected-error @below {{is not the wait for the first start that nothing has waited for yet; run verify-plan}}
  %t = llm.wait %b {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %s = llm.wait %a {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %s, %t : tensor<64xf32>, tensor<64xf32>
}
