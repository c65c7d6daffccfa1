// A misspelt phase or role would change what a plan counts without a word, so the dialect refuses it.
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

// expected-error @below {{failed to parse Llm_TrainingAttr parameter 'optimizer'}}
// expected-error @below {{expected ::llmmem::llm::OptimizerKind to be one of: adamw, sgd}}
module attributes {llm.training = #llm.training<optimizer = adam, gradients = resident>} {}
