// Norms and their gradients: weights as wide as the rows, statistics one a row in f32 (f64 for f64).
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x8xf32>, %w: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'weight' has shape [4], expected [8]}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<4xf32>, tensor<8xf32>) ->
    (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error @below {{'bias' has shape [], expected [8]}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<f32>) ->
    (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'mean' has shape [2, 8], expected [2]}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) ->
    (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf64>, %w: tensor<8xf64>, %b: tensor<8xf64>) {
  // expected-error @below {{'rstd' has element type 'f32', expected 'f64'}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<2x8xf64>, tensor<8xf64>, tensor<8xf64>) ->
    (tensor<2x8xf64>, tensor<2xf64>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'x' has rank 0, expected at least 1}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) ->
    (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{has eps -1.000000e+00, expected a finite number of at least 0}}
  %0:3 = llm.layer_norm %x, %w, %b {eps = -1.0 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) ->
    (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{requires attribute 'eps'}}
  %0:3 = llm.layer_norm %x, %w, %b : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>,
    tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{has eps nan, expected a finite number of at least 0}}
  %0:2 = llm.rms_norm %x, %w {eps = 0x7FF8000000000000 : f64} : (tensor<2x8xf32>, tensor<8xf32>) ->
    (tensor<2x8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xbf16>, %w: tensor<8xf32>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0:2 = llm.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<2x8xbf16>, tensor<8xf32>) -> (tensor<2x8xbf16>,
    tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'weight' has shape [4], expected [8]}}
  %0:2 = llm.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<4xf32>) -> (tensor<2x8xf32>,
    tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'rstd' has shape [], expected [2]}}
  %0:2 = llm.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>,
    tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x8xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{'dw' has shape [2], expected [8]}}
  %0 = llm.norm_weight_grad %x, %dy, %r : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x8xf32>, %r: tensor<2xf32>, %m: tensor<8xf32>) {
  // expected-error @below {{'mean' has shape [8], expected [2]}}
  %0 = llm.norm_weight_grad %x, %dy, %r mean(%m) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<8xf32>)
    -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x8xf32>, %r: tensor<2xf32>, %acc: tensor<2xf32>) {
  // expected-error @below {{'into' has type 'tensor<2xf32>', expected the result's 'tensor<8xf32>'}}
  %0 = llm.norm_weight_grad %x, %dy, %r into(%acc) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>,
    tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %dy: tensor<2x4xf32>, %r: tensor<2xf32>) {
  // expected-error @below {{failed to verify that all of {x, dy} have same type}}
  %0 = llm.norm_weight_grad %x, %dy, %r : (tensor<2x8xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %m: tensor<2xf32>, %r: tensor<2xf32>, %w: tensor<4xf32>, %dy: tensor<2x8xf32>) {
  // expected-error @below {{'weight' has shape [4], expected [8]}}
  %0 = llm.layer_norm_grad %x, %m, %r, %w, %dy : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>,
    tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %m: tensor<8xf32>, %r: tensor<2xf32>, %w: tensor<8xf32>, %dy: tensor<2x8xf32>) {
  // expected-error @below {{'mean' has shape [8], expected [2]}}
  %0 = llm.layer_norm_grad %x, %m, %r, %w, %dy : (tensor<2x8xf32>, tensor<8xf32>, tensor<2xf32>, tensor<8xf32>,
    tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %r: tensor<f32>, %w: tensor<f32>, %dy: tensor<f32>) {
  // expected-error @below {{'x' has rank 0, expected at least 1}}
  %0 = llm.rms_norm_grad %x, %r, %w, %dy : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %r: tensor<8xf32>, %w: tensor<8xf32>, %dy: tensor<2x8xf32>) {
  // expected-error @below {{'rstd' has shape [8], expected [2]}}
  %0 = llm.rms_norm_grad %x, %r, %w, %dy : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2x8xf32>) ->
    tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{has offset -1.000000e+00, expected a finite number of at least 0}}
  %0:2 = llm.rms_norm %x, %w {eps = 1.0e-5 : f64, offset = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}
