// Steps with caches: shapes that agree, a window that its ring holds, tables of pages for each sequence.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%l: tensor<3xi32>) {
  // expected-error @below {{'lengths' has shape [3], expected [2]}}
  %0 = llm.positions %l {context = 8 : i64} : (tensor<3xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @f(%l: tensor<2xi32>, %c: tensor<4xi32>) {
  // expected-error @below {{'counts' has shape [4], expected [2]}}
  %0 = llm.positions %l counts(%c) {context = 8 : i64} : (tensor<2xi32>, tensor<4xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @f(%l: tensor<2xi32>) {
  // expected-error @below {{has a context of 0, expected 1 to 2147483647}}
  %0 = llm.positions %l {context = 0 : i64} : (tensor<2xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<2x6x8xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'keys' has shape [2, 6, 8], expected [2, 6, 4]}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<3x6x4xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'keys' has shape [3, 6, 4], expected [2, 6, 4]}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<3x6x4xf32>, tensor<3x6x4xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<3x6x4xf32>, %p: tensor<2x1xi32>, %t: tensor<3x2xi32>) {
  // expected-error @below {{'table' has shape [3, 2], expected [2, pages of a sequence]}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) pages(%t) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<3x6x4xf32>, tensor<3x6x4xf32>, tensor<2x1xi32>, tensor<3x2xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<2x6x4xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{has a window of 7, longer than the 6 rows of its caches; leave the window out where no sequence is longer than they are}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64, window = 7 : i64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<2x6x4xf32>, %p: tensor<2x2xi32>) {
  // expected-error @below {{'positions' has shape [2, 2], expected [2, 1]}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x2xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<2x6x4xf32>, %p: tensor<2x1xi32>, %z: tensor<1xf32>) {
  // expected-error @below {{'sinks' has shape [1], expected [2]}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) sinks(%z) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x1xi32>, tensor<1xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x4xf32>, %c: tensor<2x6x4xf32>, %p: tensor<2x1xi32>, %z: tensor<2xbf16>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) sinks(%z) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x1xi32>, tensor<2xbf16>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%k: tensor<2x1x4xbf16>, %c: tensor<2x6x4xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0, %1 = llm.append_cache %c, %c, %k, %k at(%p)
    : (tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x1x4xbf16>, tensor<2x1x4xbf16>, tensor<2x1xi32>) -> (tensor<2x6x4xf32>, tensor<2x6x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{'y' has shape [2, 3, 4], expected [2, 1, 4]}}
  %0 = llm.last_rows %x, %c : (tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @below {{'positions' has shape [3], expected [2, 3]}}
  %0 = llm.rope %x at(%p : tensor<3xi32>) {heads = 2 : i64, theta = 10.0 : f64} : tensor<2x3x4xf32>
  return
}
