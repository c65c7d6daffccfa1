// A plan that was not applied, or whose step was edited afterwards, is not replaced by another without a word.
// RUN: llmmem-opt --plan-arena --verify-diagnostics --split-input-file %s

// expected-error @below {{has 'llm.places', which were not applied; run apply-checkpoints}}
func.func @not_applied(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.policy = "none", llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  %0 = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @edited(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64, llm.policy = "none"} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{needs 'llm.offsets' with 1 entries, as the plan of its step has a place for every value; the step was edited after apply-checkpoints: plan the model again}}
  %1 = llm.silu %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
