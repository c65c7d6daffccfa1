// A misspelt attribute, phase or role would change what a plan counts without a word, so the dialect refuses it.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @phase(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.phase' is "backwards", expected one of forward, backward, update}}
  %0 = llm.gelu %x {llm.phase = "backwards"} : tensor<8xf32>
  return
}

// -----

func.func @phase_is_text(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.phase' is 1 : i64, expected one of forward, backward, update}}
  %0 = llm.gelu %x {llm.phase = 1 : i64} : tensor<8xf32>
  return
}

// -----

func.func @block_negative(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.block' is -1 : i64, expected a number from 0 to 1048575 as i64}}
  %0 = llm.gelu %x {llm.block = -1 : i64} : tensor<8xf32>
  return
}

// -----

// The reports have an entry for each block up to the last.
func.func @block_huge(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.block' is 1048576 : i64, expected a number from 0 to 1048575 as i64}}
  %0 = llm.gelu %x {llm.block = 1048576 : i64} : tensor<8xf32>
  return
}

// -----

func.func @block_is_number(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.block' is "3", expected a number from 0 to 1048575 as i64}}
  %0 = llm.gelu %x {llm.block = "3"} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'llm.role' is "params", expected one of param, optimizer_state, gradient, input, kv_cache, seed}}
func.func @role(%x: tensor<8xf32> {llm.role = "params"}) {
  return
}

// -----

func.func @of_other_dialects(%x: f32) {
  // expected-error @below {{'llm.phase' is "later", expected one of forward, backward, update}}
  %0 = arith.addf %x, %x {llm.phase = "later"} : f32
  return
}

// -----

// Not "llm.block": the op would count as one of no block.
func.func @unknown(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.blok' is no attribute of this dialect; did you mean 'llm.block'?}}
  // expected-note-re @below {{the dialect has llm.training, llm.mesh, {{.*}}, llm.emulation}}
  %0 = llm.gelu %x {llm.blok = 3 : i64} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'llm.roles' is no attribute of this dialect; did you mean 'llm.role'?}}
// expected-note @below {{the dialect has}}
func.func @unknown_of_argument(%x: tensor<8xf32> {llm.roles = "param"}) {
  return
}

// -----

// expected-error @below {{'llm.rol' is no attribute of this dialect; did you mean 'llm.role'?}}
// expected-note @below {{the dialect has}}
module attributes {llm.rol = "param"} {}

// -----

func.func @role_on_op(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.role' stands on 'llm.gelu', expected on an argument of a function}}
  %0 = llm.gelu %x {llm.role = "param"} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'llm.phase' stands on an argument, expected on an op}}
func.func @phase_on_argument(%x: tensor<8xf32> {llm.phase = "forward"}) {
  return
}

// -----

// expected-error @below {{'llm.name' stands on a result, expected on an argument of a function or an op}}
func.func @name_on_result(%x: tensor<8xf32>) -> (tensor<8xf32> {llm.name = "y"}) {
  return %x : tensor<8xf32>
}

// -----

func.func @budget_on_op(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.budget' stands on 'llm.gelu', expected on a function}}
  %0 = llm.gelu %x {llm.budget = 4096 : i64} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'llm.offsets' stands on 'func.func', expected on an op}}
func.func @offsets_on_function() attributes {llm.offsets = array<i64: 0>} {
  return
}

// -----

func.func @offsets_of_another_type(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.offsets' is [0], expected array<i64: ...>}}
  %0 = llm.gelu %x {llm.offsets = [0]} : tensor<8xf32>
  return
}

// -----

func.func @decision_misspelt(%x: tensor<8xf32>) {
  // expected-error @below {{'llm.decision' is ["kept"], expected an array of keep, recompute, offload, unsaved}}
  %0 = llm.gelu %x {llm.decision = ["kept"]} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'llm.places' is [0], expected an array of #llm.place<...>}}
func.func @places_without_names() attributes {llm.places = [0]} {
  return
}

// -----

// expected-error @below {{a place has numbers of 0 or more, as in #llm.place<op = 3, instance = 0, result = 0, bytes = 2048, offset = 4096>}}
func.func @place_before_the_arena() attributes {llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = -256>]} {
  return
}

// -----

// expected-error @below {{failed to parse Llm_TrainingAttr parameter 'optimizer'}}
// expected-error @below {{expected ::llmmem::llm::OptimizerKind to be one of: adamw, sgd}}
module attributes {llm.training = #llm.training<optimizer = adam, gradients = resident>} {}
