// 'llm.instance' says which run a clone is. CSE merges equal ops that do not differ in it.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[clone] is run 1 of op 0, expected 'llm.instance' = 1}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %again : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[clone] is run 2 of op 0, expected 'llm.instance' = 2}}
  %c = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %c : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[clone] is a clone of op 0, which stands after it}}
  %b = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %a : tensor<64xf32>
}
