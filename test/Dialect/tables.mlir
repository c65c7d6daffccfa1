// Lookups, positions and their gradients: a table is [rows, width], and has a row for every position.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%ids: tensor<2x4xi32>, %t: tensor<8xf32>) {
  // expected-error @below {{'table' must be [vocabulary, width]}}
  %0 = llm.embedding %ids, %t : (tensor<2x4xi32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi32>, %t: tensor<f32>) {
  // expected-error @below {{'table' must be [vocabulary, width]}}
  %0 = llm.embedding %ids, %t : (tensor<2x4xi32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi32>, %t: tensor<16x8xf32>) {
  // expected-error @below {{'y' has shape [2, 4, 9], expected [2, 4, 8]}}
  %0 = llm.embedding %ids, %t : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x9xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi32>, %t: tensor<16x8xbf16>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0 = llm.embedding %ids, %t : (tensor<2x4xi32>, tensor<16x8xbf16>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi64>, %t: tensor<16x8xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions of 32-bit signless integer values, but got 'tensor<2x4xi64>'}}
  %0 = llm.embedding %ids, %t : (tensor<2x4xi64>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %t: tensor<3x8xf32>) {
  // expected-error @below {{'table' has shape [3, 8], expected at least 4 rows of 8}}
  %0 = llm.add_positions %x, %t : (tensor<2x4x8xf32>, tensor<3x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %t: tensor<8xf32>) {
  // expected-error @below {{'table' has shape [8], expected at least 4 rows of 8}}
  %0 = llm.add_positions %x, %t : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %t: tensor<3x8xf32>) {
  // expected-error @below {{'x' has rank 1, expected at least 2}}
  %0 = llm.add_positions %x, %t : (tensor<8xf32>, tensor<3x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %t: tensor<4x8xf32>) {
  // expected-error @below {{failed to verify that all of {x, y} have same type}}
  %0 = llm.add_positions %x, %t : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x9xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x5xi32>, %dy: tensor<2x4x8xf32>) {
  // expected-error @below {{'ids' has shape [2, 5], expected [2, 4]}}
  %0 = llm.embedding_grad %ids, %dy : (tensor<2x5xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi32>, %dy: tensor<2x4x8xf32>) {
  // expected-error @below {{'dtable' has shape [16, 9], expected [vocabulary, 8]}}
  %0 = llm.embedding_grad %ids, %dy : (tensor<2x4xi32>, tensor<2x4x8xf32>) -> tensor<16x9xf32>
  return
}

// -----

func.func @f(%ids: tensor<i32>, %dy: tensor<f32>) {
  // expected-error @below {{'dy' has rank 0, expected at least 1}}
  %0 = llm.embedding_grad %ids, %dy : (tensor<i32>, tensor<f32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%ids: tensor<2x4xi32>, %dy: tensor<2x4x8xf32>, %acc: tensor<8x8xf32>) {
  // expected-error @below {{'into' has type 'tensor<8x8xf32>', expected the result's 'tensor<16x8xf32>'}}
  %0 = llm.embedding_grad %ids, %dy into(%acc) : (tensor<2x4xi32>, tensor<2x4x8xf32>, tensor<8x8xf32>) ->
    tensor<16x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x4x8xf32>) {
  // expected-error @below {{'dtable' has shape [3, 8], expected at least 4 rows of 8}}
  %0 = llm.positions_grad %dy : (tensor<2x4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<8xf32>) {
  // expected-error @below {{'dy' has rank 1, expected at least 2}}
  %0 = llm.positions_grad %dy : (tensor<8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x4x8xf32>, %acc: tensor<5x8xf32>) {
  // expected-error @below {{'into' has type 'tensor<5x8xf32>', expected the result's 'tensor<4x8xf32>'}}
  %0 = llm.positions_grad %dy into(%acc) : (tensor<2x4x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  return
}
