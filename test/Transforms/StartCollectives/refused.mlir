// RUN: llmmem-opt --start-collectives --verify-diagnostics --split-input-file %s

// expected-error @below {{has no 'llm.arena'; run apply-checkpoints, or plan-arena for a step without a plan}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %a = llm.all_reduce %x over ["dp"] : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{is started already}}
  %a = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.started, llm.workspace = array<i64: 256, 256>} : tensor<64xf32>
  %s = llm.wait %a {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %s : tensor<64xf32>
}
