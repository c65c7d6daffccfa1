// A result or a workspace that the plan has no place for is an error at its op, of every run.
// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics --split-input-file %s

func.func @no_result(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0, 1>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  // expected-error @below {{'llm.places' has no place of result 0 of run 0 of op 1, which has 256 bytes; the step was edited after plan-checkpoints: plan it again}}
  %b = llm.silu %a {llm.id = 1 : i64} : tensor<64xf32>
  return %b : tensor<64xf32>
}

// -----

func.func @no_run(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0, 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  // expected-error @below {{'llm.places' has no place of result 0 of run 1 of op 0, which has 256 bytes}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @no_workspace(%x: tensor<64xf32>) -> tensor<f32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 4, offset = 0>]} {
  // expected-error @below {{'llm.places' has no place of the workspace of run 0 of op 0, which has 4 bytes}}
  %a = llm.global_norm %x {llm.id = 0 : i64} : (tensor<64xf32>) -> tensor<f32>
  return %a : tensor<f32>
}

// -----

func.func @no_copy(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.copies = array<i64: 0, 0, 21, 42>, llm.schedule = array<i64: 0, 1, 2>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 2, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  // expected-error @below {{'llm.places' has no place of result 0 of run 0 of op 1, which has 256 bytes}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}
