// Attention as products: scores and probabilities are [batch, heads, seq, seq].
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{'scores' has shape [1, 2, 4], expected [1, 2, 4, 4]}}
  %0 = llm.attention_scores %q, %k {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{'scores' has shape [1, 1, 4, 4], expected [1, 2, 4, 4]}}
  %0 = llm.attention_scores %q, %k {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{has 0 heads and 0 key/value heads; the second must divide the first}}
  %0 = llm.attention_scores %q, %k {heads = 0 : i64, kv_heads = 0 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%q: tensor<f32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{'q' must be [batch, seq, width]}}
  %0 = llm.attention_scores %q, %k {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<f32>,
    tensor<1x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0 = llm.attention_scores %q, %k {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>) -> tensor<1x2x4x4xbf16>
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>) {
  // expected-error @below {{has scale nan, expected a finite number}}
  %0 = llm.attention_scores %q, %k {heads = 2 : i64, kv_heads = 1 : i64, scale = 0x7FF8000000000000 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%s: tensor<2x4x4xf32>) {
  // expected-error @below {{'scores' has shape [2, 4, 4], expected [batch, heads, seq, seq]}}
  %0 = llm.causal_mask %s {fill = 0.0 : f64} : tensor<2x4x4xf32>
  return
}

// -----

func.func @f(%s: tensor<1x2x4x5xf32>) {
  // expected-error @below {{'scores' has shape [1, 2, 4, 5], expected [batch, heads, seq, seq]}}
  %0 = llm.causal_mask %s {fill = 0.0 : f64} : tensor<1x2x4x5xf32>
  return
}

// -----

func.func @f(%s: tensor<f32>) {
  // expected-error @below {{'scores' has shape [], expected [batch, heads, seq, seq]}}
  %0 = llm.causal_mask %s {fill = 0.0 : f64} : tensor<f32>
  return
}

// -----

func.func @f(%s: tensor<1x2x4x4xf32>) {
  // expected-error @below {{has a window of -1, expected 1 to 2147483647}}
  %0 = llm.causal_mask %s {fill = 0.0 : f64, window = -1 : i64} : tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of at least one dimension, none empty, of}}
  %0 = llm.softmax %x : tensor<f32>
  return
}

// -----

func.func @f(%y: tensor<f32>, %dy: tensor<f32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of at least one dimension, none empty, of}}
  %0 = llm.softmax_grad %y, %dy : tensor<f32>
  return
}

// -----

func.func @f(%p: tensor<1x2x4x3xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'probabilities' has shape [1, 2, 4, 3], expected [1, 2, 4, 4]}}
  %0 = llm.attention_values %p, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x2x4x3xf32>,
    tensor<1x4x4xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<1x2x4x4xf32>, %v: tensor<1x4x8xf32>) {
  // expected-error @below {{'out' is [1, 4, 8] with 2 heads, 'values' is [1, 4, 8] with 1: batch and head size must agree}}
  %0 = llm.attention_values %p, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x2x4x4xf32>,
    tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<1x2x4x4xf32>, %v: tensor<f32>) {
  // expected-error @below {{'values' must be [batch, seq, width]}}
  %0 = llm.attention_values %p, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x2x4x4xf32>,
    tensor<f32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<1x1x4x4xf32>, %x: tensor<1x4x8xf32>) {
  // expected-error @below {{'probabilities' has shape [1, 1, 4, 4], expected [1, 2, 4, 4]}}
  %0 = llm.attention_values_transposed %p, %x {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x1x4x4xf32>, tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
  return
}

// -----

func.func @f(%p: tensor<1x2x4x4xf32>, %x: tensor<1x4x7xf32>) {
  // expected-error @below {{'x' has width 7, expected a multiple of 2 heads}}
  %0 = llm.attention_values_transposed %p, %x {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x2x4x4xf32>, tensor<1x4x7xf32>) -> tensor<1x4x4xf32>
  return
}
