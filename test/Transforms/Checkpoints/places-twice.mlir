// Two places of one name are refused, even where they are equal.
// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics --split-input-file %s

// expected-error @below {{'llm.places' has two places of result 0 of run 0 of op 0, expected one; the step was edited after plan-checkpoints: plan it again}}
func.func @elsewhere(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 256>]} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

// expected-error @below {{'llm.places' has two places of the workspace of run 0 of op 0, expected one}}
func.func @workspace(%x: tensor<64xf32>) -> tensor<f32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, bytes = 4, offset = 0>, #llm.place<op = 0, instance = 0, bytes = 4, offset = 0>]} {
  %a = llm.global_norm %x {llm.id = 0 : i64} : (tensor<64xf32>) -> tensor<f32>
  return %a : tensor<f32>
}
