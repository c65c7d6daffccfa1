// Updates: moments and masters have the parameter's shape, betas lie in [0, 1), and a clip comes with a norm.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{has beta1 1.000000e+00, expected 0 <= beta1 < 1}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 1.0 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{has beta2 -1.000000e-01, expected 0 <= beta2 < 1}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = -0.1 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{has eps -1.000000e+00, expected a finite number of at least 0}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = -1.0 : f64, weight_decay
    = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>) ->
    (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{has clip_norm -1.000000e+00, expected a finite number of at least 0}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64, clip_norm = -1.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
    tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{needs norm(...) exactly where clip_norm is positive}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64, clip_norm = 1.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
    tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>, %n: tensor<f32>) {
  // expected-error @below {{needs norm(...) exactly where clip_norm is positive}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step norm(%n) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>,
    tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{'first_moment' has shape [4], expected [8]}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i32>)
    -> (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf64>, %g: tensor<8xf64>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{'first_moment' has element type 'f32', expected 'f64'}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf64>, tensor<8xf64>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>)
    -> (tensor<8xf64>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>, %w: tensor<8xf32>) {
  // expected-error @below {{needs results for its scales and for its master copy, in this order and of their types, and none without them}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>,
    tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>) {
  // expected-error @below {{needs results for its scales and for its master copy, in this order and of their types, and none without them}}
  %0:4 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xbf16>, %g: tensor<8xbf16>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>, %w: tensor<4xf32>) {
  // expected-error @below {{'master' has shape [4], expected [8]}}
  %0:4 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>,
    tensor<i32>, tensor<4xf32>) -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xbf16>, %g: tensor<8xbf16>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>, %step:
  tensor<i32>, %w: tensor<8xf32>) {
  // expected-error @below {{needs results for its scales and for its master copy, in this order and of their types, and none without them}}
  %0:4 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>,
    tensor<i32>, tensor<8xf32>) -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<1xf32>, %step:
  tensor<i32>) {
  // expected-error @below {{operand #4 must be 0D tensor of}}
  %0:3 = llm.adamw %p, %g, %m, %v, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<1xf32>,
    tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %lr: tensor<f32>) {
  // expected-error @below {{needs norm(...) exactly where clip_norm is positive}}
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64, clip_norm = 1.0 : f64} : (tensor<8xf32>, tensor<8xf32>,
    tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<8xf32>, %lr: tensor<f32>) {
  // expected-error @below {{has clip_norm nan, expected a finite number of at least 0}}
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64, clip_norm = 0x7FF8000000000000 : f64} : (tensor<8xf32>,
    tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %g: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @below {{failed to verify that all of {param, gradient, new_param} have same type}}
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64} : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%g: tensor<8xf32>) {
  // expected-error @below {{result #0 must be 0D tensor of}}
  %0 = llm.global_norm %g : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%p: tensor<300xf32>, %m: tensor<300xi8>, %lr: tensor<f32>, %step: tensor<i32>) {
  // expected-error @below {{has 0 scales, expected those of both moments, which are i8}}
  %0:3 = llm.adamw %p, %p, %m, %m, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<300xf32>, tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<f32>,
    tensor<i32>) -> (tensor<300xf32>, tensor<300xi8>, tensor<300xi8>)
  return
}

// -----

func.func @f(%p: tensor<300xf32>, %m: tensor<300xf32>, %lr: tensor<f32>, %step: tensor<i32>, %a: tensor<2xf32>) {
  // expected-error @below {{has 2 scales, expected none for moments that are not i8}}
  %0:5 = llm.adamw %p, %p, %m, %m, %lr, %step scales(%a, %a) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<300xf32>, tensor<300xf32>, tensor<300xf32>, tensor<300xf32>, tensor<f32>,
    tensor<i32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<300xf32>, tensor<300xf32>, tensor<300xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%p: tensor<300xf32>, %m: tensor<300xi8>, %lr: tensor<f32>, %step: tensor<i32>, %a: tensor<1xf32>) {
  // expected-error @below {{'scales' has shape [1], expected [2]}}
  %0:5 = llm.adamw %p, %p, %m, %m, %lr, %step scales(%a, %a) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<300xf32>, tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<f32>,
    tensor<i32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<1xf32>, tensor<1xf32>)
  return
}

// -----

func.func @f(%p: tensor<300xf64>, %m: tensor<300xi8>, %lr: tensor<f64>, %step: tensor<i32>, %a: tensor<2xf64>) {
  // expected-error @below {{'first_moment' has element type 'i8', expected 'f64'}}
  %0:5 = llm.adamw %p, %p, %m, %m, %lr, %step scales(%a, %a) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.1 : f64} : (tensor<300xf64>, tensor<300xf64>, tensor<300xi8>, tensor<300xi8>, tensor<f64>,
    tensor<i32>, tensor<2xf64>, tensor<2xf64>) -> (tensor<300xf64>, tensor<300xi8>, tensor<300xi8>, tensor<2xf64>, tensor<2xf64>)
  return
}
