// Scaled losses: a factor replaces a norm, and a scale that overflowed does not grow.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%n: tensor<f32>, %s: tensor<f32>) {
  // expected-error @below {{has growth 5.000000e-01, expected a finite number of at least 1}}
  %0:5 = llm.adjust_loss_scale %n, %s, %s, %s {growth = 0.5 : f64, backoff = 0.5 : f64, interval = 3 : i64}
    : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @f(%n: tensor<f32>, %s: tensor<f32>) {
  // expected-error @below {{has a backoff of 2.000000e+00, expected at most 1: a scale that overflowed must not grow}}
  %0:5 = llm.adjust_loss_scale %n, %s, %s, %s {growth = 2.0 : f64, backoff = 2.0 : f64, interval = 3 : i64}
    : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @f(%n: tensor<f32>, %s: tensor<f32>) {
  // expected-error @below {{has an interval of 0 steps, expected at least 1}}
  %0:5 = llm.adjust_loss_scale %n, %s, %s, %s {growth = 2.0 : f64, backoff = 0.5 : f64, interval = 0 : i64}
    : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %lr: tensor<f32>, %n: tensor<f32>) {
  // expected-error @below {{has norm(...) and factor(...); llm.adjust_loss_scale clips by its own clip_norm, so leave the norm out}}
  %0 = llm.sgd %p, %g, %lr norm(%n) factor(%n) {weight_decay = 0.0 : f64, clip_norm = 1.0 : f64}
    : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<32x8xf32>, %t: tensor<6xi32>, %s: tensor<f64>) {
  // expected-error @below {{'dloss'}}
  %0:2 = llm.loss_head %x, %w, %t dloss(%s) layout(out_in) {chunk = 6 : i64}
    : (tensor<6x8xf32>, tensor<32x8xf32>, tensor<6xi32>, tensor<f64>) -> (tensor<f32>, tensor<6x8xf32>)
  return
}
