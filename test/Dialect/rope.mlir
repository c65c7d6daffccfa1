// Rotary positions: whole heads of even size, a positive theta, a scaling that divides by nothing that is zero.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs at least one head}}
  %0 = llm.rope %x {heads = 0 : i64, theta = 1.0 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs at least one head}}
  %0 = llm.rope %x {heads = -1 : i64, theta = 1.0 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{'x' has width 8, expected a multiple of 3 heads}}
  %0 = llm.rope %x {heads = 3 : i64, theta = 1.0 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{has head size 1, expected an even one}}
  %0 = llm.rope %x {heads = 8 : i64, theta = 1.0 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{'x' must be [batch, seq, width]}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'x' must be [batch, seq, width]}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64} : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs a positive theta}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 0.0 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs a positive theta}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 0x7FF8000000000000 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs a positive theta}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 0x7FF0000000000000 : f64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{has a scaling by divisors of type 'tensor<3xf64>', expected 'tensor<2xf64>': one for each pair of a head}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64,
    scaling = #llm.rope_scaling<divisors = dense<[1.0, 2.0, 2.0]> : tensor<3xf64>, magnitude = 1.0 : f64>} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs a scaling of positive divisors and a positive magnitude}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64,
    scaling = #llm.rope_scaling<divisors = dense<[1.0, 0.0]> : tensor<2xf64>, magnitude = 1.0 : f64>} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{needs a scaling of positive divisors and a positive magnitude}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64,
    scaling = #llm.rope_scaling<divisors = dense<[1.0, 2.0]> : tensor<2xf64>, magnitude = 0.0 : f64>} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{turns 6 elements of heads of 4}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64, rotary = 6 : i64} : tensor<1x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8xf32>) {
  // expected-error @below {{turns 3 elements of a head, expected an even number}}
  %0 = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64, rotary = 3 : i64} : tensor<1x4x8xf32>
  return
}
