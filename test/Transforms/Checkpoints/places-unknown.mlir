// A place of an op, a run or a result that the step does not have, or that needs none, is refused.
// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics --split-input-file %s

// expected-error @below {{'llm.places' has a place of result 0 of run 0 of op 7, but the step has ops 0 to 0 alone; the step was edited after plan-checkpoints: plan it again}}
func.func @op(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 7, instance = 0, result = 0, bytes = 256, offset = 256>]} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @run(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 0, instance = 1, result = 0, bytes = 256, offset = 256>]} {
  // expected-error @below {{'llm.places' has a place of result 0 of run 1 of op 0, but 'llm.schedule' has only 1 of its runs}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @result(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 0, instance = 0, result = 1, bytes = 256, offset = 256>]} {
  // expected-error @below {{'llm.places' has a place of result 1 of run 0 of op 0, but the op has only 1 results}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @workspace(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>,
                  #llm.place<op = 0, instance = 0, bytes = 256, offset = 256>]} {
  // expected-error @below {{'llm.places' has a place of the workspace of run 0 of op 0, but it has none}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

// The update lies in its argument.
func.func @in_argument(%p: tensor<64xf32> {llm.donated = 0 : i64}, %g: tensor<64xf32>, %lr: tensor<f32>) -> tensor<64xf32> attributes {
    llm.schedule = array<i64: 0>, llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  // expected-error @below {{'llm.places' has a place of result 0 of run 0 of op 0, but its bytes are those of another value}}
  %p1 = llm.sgd %p, %g, %lr {llm.id = 0 : i64, weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %p1 : tensor<64xf32>
}
