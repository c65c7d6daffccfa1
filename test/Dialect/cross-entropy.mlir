// The loss and its gradient: a target and a log-sum-exp for every row of logits.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x8xf32>, %t: tensor<3xi32>) {
  // expected-error @below {{'targets' has shape [3], expected [2]}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<2x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @below {{'logits' has rank 0, expected at least 1}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf64>, %t: tensor<2xi32>) {
  // expected-error @below {{'loss' has element type 'f32', expected 'f64'}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<2x8xf64>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf64>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{'lse' has shape [8], expected [2]}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<2x8xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %t: tensor<2xi32>) {
  // expected-error @below {{result #0 must be 0D tensor of}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<2x8xf32>, tensor<2xi32>) -> (tensor<1xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %t: tensor<2xf32>) {
  // expected-error @below {{operand #1 must be statically shaped tensor without empty dimensions of 32-bit signless integer values}}
  %0:2 = llm.cross_entropy %x, %t : (tensor<2x8xf32>, tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>, %l: tensor<f32>, %t: tensor<i32>, %d: tensor<f32>) {
  // expected-error @below {{'logits' has rank 0, expected at least 1}}
  %0 = llm.cross_entropy_grad %x, %l, %t, %d : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %l: tensor<2xf32>, %t: tensor<2x8xi32>, %d: tensor<f32>) {
  // expected-error @below {{'targets' has shape [2, 8], expected [2]}}
  %0 = llm.cross_entropy_grad %x, %l, %t, %d : (tensor<2x8xf32>, tensor<2xf32>, tensor<2x8xi32>, tensor<f32>) ->
    tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %l: tensor<f32>, %t: tensor<2xi32>, %d: tensor<f32>) {
  // expected-error @below {{'lse' has shape [], expected [2]}}
  %0 = llm.cross_entropy_grad %x, %l, %t, %d : (tensor<2x8xf32>, tensor<f32>, tensor<2xi32>, tensor<f32>) ->
    tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %l: tensor<2xf32>, %t: tensor<2xi32>, %d: tensor<f64>) {
  // expected-error @below {{'dloss' has element type 'f64', expected 'f32'}}
  %0 = llm.cross_entropy_grad %x, %l, %t, %d : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<f64>) ->
    tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>, %l: tensor<2xf32>, %t: tensor<2xi32>, %d: tensor<f32>) {
  // expected-error @below {{failed to verify that all of {logits, dlogits} have same type}}
  %0 = llm.cross_entropy_grad %x, %l, %t, %d : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<f32>) ->
    tensor<2x4xf32>
  return
}
