// Fused attention and its gradient: q [batch, seq, heads*d], k and v [batch, seq, kv_heads*d], lse [batch, heads,
// seq].
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has 0 heads and 1 key/value heads; the second must divide the first}}
  %0:2 = llm.attention %q, %k, %v {heads = 0 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has 2 heads and 0 key/value heads; the second must divide the first}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 0 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has -2 heads and 1 key/value heads; the second must divide the first}}
  %0:2 = llm.attention %q, %k, %v {heads = -2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has 3 heads and 2 key/value heads; the second must divide the first}}
  %0:2 = llm.attention %q, %k, %v {heads = 3 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'q' has width 8, expected a multiple of 3 heads}}
  %0:2 = llm.attention %q, %k, %v {heads = 3 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x3xf32>, %v: tensor<1x4x3xf32>) {
  // expected-error @below {{'k' has width 3, expected a multiple of 2 heads}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x8xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'q' is [1, 4, 8] with 2 heads, 'k' is [1, 4, 8] with 1: batch, seq and head size must agree}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x8xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x5x4xf32>) {
  // expected-error @below {{'q' is [1, 4, 8] with 2 heads, 'v' is [1, 5, 4] with 1: batch, seq and head size must agree}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x5x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'q' must be [batch, seq, width]}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<f32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'q' must be [batch, seq, width]}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<f32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<f32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'k' must be [batch, seq, width]}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xbf16>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xbf16>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'out' has type 'tensor<1x4x4xf32>', expected that of q, 'tensor<1x4x8xf32>'}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'lse' has shape [1, 4, 2], expected [1, 2, 4]}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{'lse' has element type 'f64', expected 'f32'}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf64>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has a window of 0, expected 1 to 2147483647}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window = 0 : i64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has a window of -3, expected 1 to 2147483647}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window = -3 : i64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has a window of 2147483648, expected 1 to 2147483647}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window = 2147483648 : i64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has scale INF, expected a finite number}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0x7FF0000000000000 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has dropout probability 1.000000e+00, expected 0 <= p < 1}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, p = 1.0 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{drops out but has no seed; add seed(%seed)}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, p = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %s: tensor<3xi32>) {
  // expected-error @below {{'seed' has shape [3], expected [2]}}
  %0:2 = llm.attention %q, %k, %v seed(%s) {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, p = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<3xi32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x2x4xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{has 0 heads and 1 key/value heads; the second must divide the first}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 0 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<f32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<f32>, %l: tensor<1x2x4xf32>,
  %d: tensor<f32>) {
  // expected-error @below {{'q' must be [batch, seq, width]}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<f32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<f32>, tensor<1x2x4xf32>, tensor<f32>) -> (tensor<f32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x4x2xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{'lse' has shape [1, 4, 2], expected [1, 2, 4]}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x2x4xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{has a window of 0, expected 1 to 2147483647}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window =
    0 : i64} : (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>,
    tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x2x4xf32>, %d: tensor<1x4x4xf32>) {
  // expected-error @below {{failed to verify that all of {q, out, dout, dq} have same type}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x4xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x2x4xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{failed to verify that all of {k, dk} have same type}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %o: tensor<1x4x8xf32>, %l:
  tensor<1x2x4xf32>, %d: tensor<1x4x8xf32>) {
  // expected-error @below {{drops out but has no seed; add seed(%seed)}}
  %0:3 = llm.attention_grad %q, %k, %v, %o, %l, %d {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, p = 0.5
    : f64} : (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>,
    tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{has softcap 0.000000e+00, expected a finite number above 0}}
  %0:2 = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, softcap = 0.0 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>) {
  // expected-error @below {{is bidirectional and has a window; expected one of the two}}
  %0:2 = llm.attention %q, %k, %v {bidirectional, heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window = 2 : i64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{'sinks' has shape [1], expected [2]}}
  %0:2 = llm.attention %q, %k, %v sinks(%s) {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64} :
    (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%s: tensor<2xf32>, %o: tensor<1x4x8xf32>, %l: tensor<1x2x5xf32>) {
  // expected-error @below {{'lse' is [1, 2, 5] and 'out' is [1, 4, 8], expected [batch, heads, seq] and [batch, seq, heads * size]}}
  %0 = llm.attention_sink_grad %s, %o, %l, %o : (tensor<2xf32>, tensor<1x4x8xf32>, tensor<1x2x5xf32>, tensor<1x4x8xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%s: tensor<2xf32>, %o: tensor<1x4x8xf32>, %l: tensor<1x2x4xf32>, %d: tensor<1x4x6xf32>) {
  // expected-error @below {{'dout' has type 'tensor<1x4x6xf32>', expected that of out, 'tensor<1x4x8xf32>'}}
  %0 = llm.attention_sink_grad %s, %o, %l, %d : (tensor<2xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x6xf32>) -> tensor<2xf32>
  return
}
