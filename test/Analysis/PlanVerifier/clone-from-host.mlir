// A clone reads what came back from the host where its original read the value itself: the same bits. Not another value.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.silu %a {llm.id = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %back = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %again = llm.silu %back {llm.clone_of = 1 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 512>} : tensor<64xf32>
  return %again, %again : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.host_arena = 256 : i64, llm.peak = 1024 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.silu %a {llm.id = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  %up = llm.copy_up %b {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %back = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // expected-error @below {{[clone] is a clone of op 1, but reads other values}}
  %again = llm.silu %back {llm.clone_of = 1 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 512>} : tensor<64xf32>
  return %b, %again : tensor<64xf32>, tensor<64xf32>
}
