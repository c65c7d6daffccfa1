// What is held in fewer bits: scales for it and for nothing else, equal groups, zero points of i4 alone.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>) {
  // expected-error @below {{'weight' holds 'i8', whose groups have scales; add scales(%scales)}}
  %0 = llm.linear %x, %w layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi8>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xf32>, %s: tensor<8x2xf32>) {
  // expected-error @below {{'weight' holds 'f32', which has neither scales nor zero points; leave them out}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xf32>, tensor<8x2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x2xbf16>) {
  // expected-error @below {{'scales' of 'weight' are 'bf16', expected 'f32'}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x2xbf16>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf64>, %w: tensor<8x64xi8>, %s: tensor<8x2xf64>) {
  // expected-error @below {{computes in f64, but 'i8' is unpacked to f32; use bf16 or f32 with it}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf64>, tensor<8x64xi8>, tensor<8x2xf64>) -> tensor<2x8xf64>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<64x2xf32>) {
  // expected-error @below {{'scales' of 'weight' have the shape [64, 2], expected [8, groups of a row]}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<64x2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x4xf32>) {
  // expected-error @below {{'weight' has rows of 64 elements in 4 groups, expected groups of equal size, a multiple of 32}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x4xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi4>, %s: tensor<8x2xf32>) {
  // expected-error @below {{'weight' holds 'i4', whose groups have zero points; add zeros(%zeros)}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi4>, tensor<8x2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x2xf32>, %z: tensor<8x2xi4>) {
  // expected-error @below {{'weight' holds 'i8', whose numbers count from 0; leave its zero points out}}
  %0 = llm.linear %x, %w scales(%s) zeros(%z) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<8x2xi4>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi4>, %s: tensor<8x2xf32>, %z: tensor<8x1xi4>) {
  // expected-error @below {{'zeros' has shape [8, 1], expected [8, 2]}}
  %0 = llm.linear %x, %w scales(%s) zeros(%z) layout(out_in) : (tensor<2x64xf32>, tensor<8x64xi4>, tensor<8x2xf32>, tensor<8x1xi4>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%i: tensor<2x3xi32>, %t: tensor<8x96xi8>, %s: tensor<8x4xf32>) {
  // expected-error @below {{'table' has rows of 96 elements in 4 groups, expected groups of equal size, a multiple of 32}}
  %0 = llm.embedding %i, %t scales(%s) : (tensor<2x3xi32>, tensor<8x96xi8>, tensor<8x4xf32>) -> tensor<2x3x96xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has i4, which has zero points; expected i8, f8E4M3FN or f8E5M2}}
  %0, %1 = llm.pack %x : tensor<2x8xf32> -> tensor<2x8xi4>, tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{'packed' has rows of 8 elements in 3 groups, expected groups of equal size}}
  %0, %1 = llm.pack %x : tensor<2x8xf32> -> tensor<2x8xi8>, tensor<2x3xf32>
  return
}

// -----

func.func @f(%p: tensor<2x8xi8>, %s: tensor<2x2xbf16>) {
  // expected-error @below {{'scales' of 'packed' are 'bf16', expected 'f32'}}
  %0 = llm.unpack %p, %s : tensor<2x8xi8>, tensor<2x2xbf16> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%p: tensor<2x8xi8>, %s: tensor<2x2xf32>) {
  // expected-error @below {{'packed' has shape [2, 8], expected [2, 4]}}
  %0 = llm.unpack %p, %s : tensor<2x8xi8>, tensor<2x2xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x8xi8>, %c: tensor<2x6x8xi8>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'k' holds 'i8', whose groups have scales; add scales(%scales)}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x8xi8>, tensor<2x1x8xi8>, tensor<2x6x8xi8>, tensor<2x6x8xi8>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x8xi8>, %c: tensor<2x6x8xi8>, %p: tensor<2x1xi32>, %s: tensor<2x1x2xf32>) {
  // expected-error @below {{has 2 scales, expected four: of k, v, keys and values}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) scales(%s, %s) {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x8xi8>, tensor<2x1x8xi8>, tensor<2x6x8xi8>, tensor<2x6x8xi8>, tensor<2x1xi32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x8xf32>, %k: tensor<2x1x8xi8>, %c: tensor<2x6x8xi8>, %p: tensor<2x1xi32>, %s: tensor<2x1x1xf32>, %t: tensor<2x6x1xf32>) {
  // expected-error @below {{'scales' of 'k' have 1 columns, expected one for each of 2 heads}}
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) scales(%s, %s, %t, %t) {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x8xi8>, tensor<2x1x8xi8>, tensor<2x6x8xi8>, tensor<2x6x8xi8>, tensor<2x1xi32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x6x1xf32>, tensor<2x6x1xf32>) -> tensor<2x1x8xf32>
  return
}
