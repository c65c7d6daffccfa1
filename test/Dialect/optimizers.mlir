// Updates with states: each of its type with a result, a step where the formula has one.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @all(
// CHECK: llm.sgd %arg0, %arg1, %arg2 state(%arg3) {momentum = 9.000000e-01 : f64, nesterov, weight_decay = 0.000000e+00 : f64}
// CHECK: llm.lion %arg0, %arg1, %arg2 state(%arg3) {beta1 = 9.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, weight_decay = 0.000000e+00 : f64}
// CHECK: llm.adafactor %arg0, %arg1, %arg2 step(%arg4) state(%arg5, %arg6) {beta2_decay = -8.000000e-01 : f64, eps = 9.9999999999999995E-8 : f64, weight_decay = 0.000000e+00 : f64}
// CHECK: llm.muon %arg0, %arg1, %arg2 state(%arg3) {momentum = 0.94999999999999996 : f64, nesterov, weight_decay = 0.000000e+00 : f64}
func.func @all(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %lr: tensor<f32>, %m: tensor<4x6xf32>, %t: tensor<i32>, %r: tensor<4xf32>, %c: tensor<6xf32>) {
  %0:2 = llm.sgd %p, %g, %lr state(%m) {momentum = 0.9 : f64, nesterov, weight_decay = 0.0 : f64}
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %1:2 = llm.lion %p, %g, %lr state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.0 : f64}
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %2:3 = llm.adafactor %p, %g, %lr step(%t) state(%r, %c) {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64}
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<i32>, tensor<4xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<6xf32>)
  %3:2 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, nesterov, weight_decay = 0.0 : f64}
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @below {{has 0 states, expected 1, or 2 with a master copy}}
  %0 = llm.sgd %p, %g, %lr {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @below {{has 'nesterov' without a momentum to look ahead by}}
  %0 = llm.sgd %p, %g, %lr {nesterov, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<4xf32>) {
  // expected-error @below {{needs a result of the same type for each of its states}}
  %0 = llm.lion %p, %g, %lr state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<4xf32>, %t: tensor<i32>) {
  // expected-error @below {{reads no step(...); leave it out}}
  %0:2 = llm.lion %p, %g, %lr step(%t) state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %v: tensor<4xf32>) {
  // expected-error @below {{needs step(...), the number of the step}}
  %0:2 = llm.adafactor %p, %g, %lr state(%v) {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %lr: tensor<f32>, %t: tensor<i32>, %r: tensor<6xf32>) {
  // expected-error @below {{'state of rows' has shape [6], expected [4]}}
  %0:3 = llm.adafactor %p, %g, %lr step(%t) state(%r, %r) {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64}
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<i32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<4xf32>) {
  // expected-error @below {{updates a parameter of type 'tensor<4xf32>', expected a matrix}}
  %0:2 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
