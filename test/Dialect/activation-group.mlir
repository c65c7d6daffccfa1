// Activations are rounded for weights in integers, in groups that divide what they lie along.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<8x1xf32>) {
  // expected-error @below {{rounds its activations for a weight of 'f8E4M3FN'; expected i4 or i8, or no 'activation_group'}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) {activation_group = 64 : i64} : (tensor<2x64xf32>, tensor<8x64xf8E4M3FN>, tensor<8x1xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xf32>) {
  // expected-error @below {{rounds its activations for a weight of 'f32'; expected i4 or i8, or no 'activation_group'}}
  %0 = llm.linear %x, %w layout(out_in) {activation_group = 64 : i64} : (tensor<2x64xf32>, tensor<8x64xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x96xf32>, %w: tensor<8x96xi8>, %s: tensor<8x1xf32>) {
  // expected-error @below {{has 'activation_group' 96, expected a multiple of 64 up to 256}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) {activation_group = 96 : i64} : (tensor<2x96xf32>, tensor<8x96xi8>, tensor<8x1xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x640xf32>, %w: tensor<8x640xi8>, %s: tensor<8x1xf32>) {
  // expected-error @below {{has 'activation_group' 320, expected a multiple of 64 up to 256}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) {activation_group = 320 : i64} : (tensor<2x640xf32>, tensor<8x640xi8>, tensor<8x1xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x2xf32>) {
  // expected-error @below {{has 'activation_group' 64, which does not divide the 32 elements of a group of 'weight'}}
  %0 = llm.linear %x, %w scales(%s) layout(out_in) {activation_group = 64 : i64} : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x96xf32>, %w: tensor<96x32xi8>, %s: tensor<96x1xf32>) {
  // expected-error @below {{has 'activation_group' 64, which does not divide the 96 elements of a row of 'x'}}
  %0 = llm.linear %x, %w scales(%s) layout(in_out) {activation_group = 64 : i64} : (tensor<2x96xf32>, tensor<96x32xi8>, tensor<96x1xf32>) -> tensor<2x32xf32>
  return
}
