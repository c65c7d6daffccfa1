// FLOPs and bytes that 64 bits cannot count are said to be too many, and not what is left of them: 2^79 of them leave 0.
// RUN: llmmem-opt %s --annotate-memory --verify-diagnostics --split-input-file

func.func @step(%x: tensor<1048576x1073741824xbf16>, %w: tensor<1073741824x268435456xbf16>) -> tensor<1048576x268435456xbf16> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0 = llm.linear %x, %w layout(in_out) : (tensor<1048576x1073741824xbf16>, tensor<1073741824x268435456xbf16>) -> tensor<1048576x268435456xbf16>
  return %0 : tensor<1048576x268435456xbf16>
}

// -----

func.func @step(%x: tensor<1048576x1073741824xbf16>, %dy: tensor<1048576x268435456xbf16>) -> tensor<1073741824x268435456xbf16> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0 = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<1048576x1073741824xbf16>, tensor<1048576x268435456xbf16>) -> tensor<1073741824x268435456xbf16>
  return %0 : tensor<1073741824x268435456xbf16>
}

// -----

func.func @step(%q: tensor<1x1073741824x1048576xbf16>) -> tensor<1x1073741824x1048576xbf16> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0, %lse = llm.attention %q, %q, %q {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<1x1073741824x1048576xbf16>, tensor<1x1073741824x1048576xbf16>, tensor<1x1073741824x1048576xbf16>) -> (tensor<1x1073741824x1048576xbf16>, tensor<1x1x1073741824xf32>)
  return %0 : tensor<1x1073741824x1048576xbf16>
}

// -----

func.func @step(%p: tensor<33554432x33554432xf32>, %g: tensor<33554432x33554432xf32>, %m: tensor<33554432x33554432xf32>, %lr: tensor<f32>) -> (tensor<33554432x33554432xf32>, tensor<33554432x33554432xf32>) {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0:2 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, weight_decay = 0.1 : f64}
    : (tensor<33554432x33554432xf32>, tensor<33554432x33554432xf32>, tensor<f32>, tensor<33554432x33554432xf32>) -> (tensor<33554432x33554432xf32>, tensor<33554432x33554432xf32>)
  return %0#0, %0#1 : tensor<33554432x33554432xf32>, tensor<33554432x33554432xf32>
}

// -----

func.func @step(%x: tensor<1048576x1073741824xbf16>, %w: tensor<268435456x1073741824xbf16>, %t: tensor<1048576xi32>) -> tensor<f32> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %l, %dx = llm.loss_head %x, %w, %t layout(out_in) {chunk = 1048576 : i64}
    : (tensor<1048576x1073741824xbf16>, tensor<268435456x1073741824xbf16>, tensor<1048576xi32>) -> (tensor<f32>, tensor<1048576x1073741824xbf16>)
  return %l : tensor<f32>
}

// -----

func.func @step(%x: tensor<16x65536x1073741824xbf16>, %w: tensor<16x1073741824x16777216xbf16>) -> tensor<16x65536x16777216xbf16> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0 = llm.grouped_linear %x, %w layout(in_out) : (tensor<16x65536x1073741824xbf16>, tensor<16x1073741824x16777216xbf16>) -> tensor<16x65536x16777216xbf16>
  return %0 : tensor<16x65536x16777216xbf16>
}

// -----

// The same operand of 2^59 bytes 33 times: together 2^64 + 2^59.
!x = tensor<134217728x536870912xf64>
func.func @step(%x: !x) -> tensor<f64> {
  // expected-error @below {{costs more than 2^63 FLOPs or bytes}}
  %0 = llm.global_norm %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x
    : (!x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x) -> tensor<f64>
  return %0 : tensor<f64>
}
