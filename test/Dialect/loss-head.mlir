// The loss head: a chunk is whole granules or all tokens, and everything else as in the ops that it stands for.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @example(
// CHECK: llm.loss_head %arg0, %arg1, %arg2 into(%arg3) layout(out_in) {chunk = 1024 : i64}
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<50257x768xbf16>, tensor<8x1024xi32>, tensor<50257x768xbf16>)
// CHECK-SAME: -> (tensor<f32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>)
func.func @example(%x: tensor<8x1024x768xbf16>, %w: tensor<50257x768xbf16>, %t: tensor<8x1024xi32>,
    %acc: tensor<50257x768xbf16>) {
  %0:3 = llm.loss_head %x, %w, %t into(%acc) layout(out_in) {chunk = 1024 : i64}
    : (tensor<8x1024x768xbf16>, tensor<50257x768xbf16>, tensor<8x1024xi32>, tensor<50257x768xbf16>)
   -> (tensor<f32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>)
  return
}

// CHECK-LABEL: func.func @columns(
// CHECK: llm.loss_head %arg0, %arg1, %arg2 layout(in_out) {chunk = 4 : i64, granule = 2 : i64, ignore_index = 0 : i64}
func.func @columns(%x: tensor<6x8xf64>, %w: tensor<8x32xf64>, %t: tensor<6xi32>) {
  %0:3 = llm.loss_head %x, %w, %t layout(in_out) {chunk = 4 : i64, granule = 2 : i64, ignore_index = 0 : i64}
    : (tensor<6x8xf64>, tensor<8x32xf64>, tensor<6xi32>) -> (tensor<f64>, tensor<6x8xf64>, tensor<8x32xf64>)
  return
}

// CHECK-LABEL: func.func @rank(
// CHECK: llm.loss_head %arg0, %arg1, %arg2 layout(out_in) {chunk = 6 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 63>}
func.func @rank(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) attributes {llm.mesh = #llm.mesh<tp = 2>} {
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 63>}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) attributes {llm.mesh = #llm.mesh<tp = 2>} {
  // expected-error @below {{has 32 of the vocabulary on each of 2 ranks, expected at least 65 together}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 65>}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{has a group but no mesh}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 63>}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{has a chunk of 3 tokens, expected a multiple of 2, or all 6}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 3 : i64, granule = 2 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{has a chunk of 0 tokens, expected a multiple of 512, or all 6}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 0 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{has an accumulation tile ('granule') of 0 tokens, expected at least 1}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64, granule = 0 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'weight' has shape [32, 8], expected [8, 8]}}
  %0:3 = llm.loss_head %x, %w, %t layout(in_out) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<256xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{'weight' has rank 1, expected at least 2}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<256xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<256xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf64>, %t: tensor<6xi32>) {
  // expected-error @below {{mixes element types 'f32' and 'f64'; insert llm.cast}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf64>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf64>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<8xi32>) {
  // expected-error @below {{'targets' has shape [8], expected [6]}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf64>, %w: tensor<32x8xf64>, %t: tensor<6xi32>) {
  // expected-error @below {{'loss' has element type 'f32', expected 'f64'}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf64>, tensor<32x8xf64>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf64>, tensor<32x8xf64>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{gives a gradient dx of type 'tensor<6x4xf32>', expected that of x, 'tensor<6x8xf32>'}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x4xf32>, tensor<32x8xf32>)
  return
}

// -----

// Of an x that is constant there is one gradient, and of a head one at least.
func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{gives 2 gradients, expected that of the weight alone ('constant_x')}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64, constant_x}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{gives 0 gradients, expected that of x, and that of a trained weight}}
  %0 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>, %acc: tensor<8x32xf32>) {
  // expected-error @below {{'into'}}
  %0:3 = llm.loss_head %x, %w, %t into(%acc) layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>, tensor<8x32xf32>)
   -> (tensor<f32>, tensor<6x8xf32>, tensor<32x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{has an accumulator 'into' of a gradient dw that it does not give; leave it out, or add the result dw}}
  %0:2 = llm.loss_head %x, %w, %t into(%w) layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>, tensor<32x8xf32>) -> (tensor<f32>, tensor<6x8xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>) {
  // expected-error @below {{gives a gradient dw of type 'tensor<32x4xf32>', expected its weight's, 'tensor<32x8xf32>'}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<32x4xf32>)
  return
}
