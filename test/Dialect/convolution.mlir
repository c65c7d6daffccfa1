// Convolutions have a weight of each tap and channel, and a ring that holds the rows that taps reach back to.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x8x6xf32>, %w: tensor<3x5xf32>) {
  // expected-error @below {{'weight' has shape [3, 5], expected [3, 6]}}
  %0 = llm.causal_conv %x, %w : tensor<2x8x6xf32>, tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6xf32>, %w: tensor<3x6xf32>) {
  // expected-error @below {{'x' has shape [8, 6], expected [batch, seq, channels]}}
  %0 = llm.causal_conv %x, %w : tensor<8x6xf32>, tensor<3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>, %w: tensor<65x6xf32>) {
  // expected-error @below {{'weight' has 65 taps, expected 1 to 64}}
  %0 = llm.causal_conv %x, %w : tensor<2x8x6xf32>, tensor<65x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>, %i: tensor<4x6xf32>) {
  // expected-error @below {{'into' has type 'tensor<4x6xf32>', expected the result's 'tensor<3x6xf32>'}}
  %0 = llm.causal_conv_weight_grad %x, %x into(%i) : (tensor<2x8x6xf32>, tensor<2x8x6xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<3x6xf32>, %s: tensor<2x1x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'state' has shape [2, 1, 6], expected [batch, rows, channels] with 2 rows or more}}
  %0 = llm.cached_conv %x, %w state(%s) at(%p)
     : (tensor<2x1x6xf32>, tensor<3x6xf32>, tensor<2x1x6xf32>, tensor<2x1xi32>) -> tensor<2x1x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %s: tensor<3x2x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'state' has shape [3, 2, 6], expected [2, 2, 6]}}
  %0 = llm.append_state %s, %x at(%p) : (tensor<3x2x6xf32>, tensor<2x1x6xf32>, tensor<2x1xi32>) -> tensor<3x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>, %w: tensor<3x1x6xf32>) {
  // expected-error @below {{'weight' has shape [3, 1, 6], expected [taps, channels]}}
  %0 = llm.causal_conv %x, %w : tensor<2x8x6xf32>, tensor<3x1x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>, %w: tensor<3x6xf64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64'; insert llm.cast}}
  %0 = llm.causal_conv %x, %w : tensor<2x8x6xf32>, tensor<3x6xf64>
  return
}

// -----

func.func @f(%x: tensor<2x8x6xf32>) {
  // expected-error @below {{'dw' has shape [3, 5], expected [3, 6]}}
  %0 = llm.causal_conv_weight_grad %x, %x : (tensor<2x8x6xf32>, tensor<2x8x6xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>, %s: tensor<2x2x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'x' has shape [2, 6], expected [batch, seq, channels]}}
  %0 = llm.append_state %s, %x at(%p) : (tensor<2x2x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %s: tensor<2x2x6xf32>, %p: tensor<2x2xi32>) {
  // expected-error @below {{'positions' has shape [2, 2], expected [2, 1]}}
  %0 = llm.append_state %s, %x at(%p) : (tensor<2x2x6xf32>, tensor<2x1x6xf32>, tensor<2x2xi32>) -> tensor<2x2x6xf32>
  return
}
