// Element-wise ops: equal types, static shapes, no empty dimension, floats of the dialect.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<0x8xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions of}}
  %0 = llm.gelu %x : tensor<0x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions of}}
  %0 = llm.silu %x : tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf8E5M2>) {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions of bfloat16 type or 16-bit float or 32-bit float or 64-bit float values, but got 'tensor<8xf8E5M2>'}}
  %0 = llm.add %x, %x : tensor<8xf8E5M2>
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions of}}
  %0 = llm.mul %x, %x : tensor<8xi32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{result #0 must be statically shaped tensor without empty dimensions of}}
  %0 = llm.fill {value = 1.0 : f64} : tensor<0xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{requires attribute 'value'}}
  %0 = llm.fill : tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {a, b, y} have same type}}
  %0 = "llm.add"(%a, %b) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {x, dy, dx} have same type}}
  %0 = "llm.gelu_grad"(%a, %b) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<8xf32>) {
  // expected-error @below {{failed to verify that all of {x, y} have same type}}
  %0 = "llm.gelu"(%a) : (tensor<8xf32>) -> tensor<8xbf16>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{needs a finite factor}}
  %0 = llm.scale %x {factor = 0x7FF0000000000000 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has cap 0.000000e+00, expected a finite number above 0}}
  %0 = llm.softcap %x {cap = 0.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%y: tensor<8xf32>) {
  // expected-error @below {{has cap -1.000000e+00, expected a finite number above 0}}
  %0 = llm.softcap_grad %y, %y {cap = -1.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has alpha 0.000000e+00, expected a finite number above 0}}
  %0 = llm.silu %x {alpha = 0.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has no bound; expected 'low', 'high', or both}}
  %0 = llm.clamp %x : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has 'low' 2.000000e+00 above 'high' 1.000000e+00}}
  %0 = llm.clamp_grad %x, %x {high = 1.0 : f64, low = 2.0 : f64} : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has a bound that is not finite}}
  %0 = llm.clamp %x {high = 0x7FF0000000000000 : f64} : tensor<8xf32>
  return
}
