// Dropout has 0 <= p < 1, a seed of two words, and a mask as large as x.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{has dropout probability 1.000000e+00, expected 0 <= p < 1}}
  %0 = llm.dropout %x, %s {p = 1.0 : f64, key = 0 : i64} : tensor<8xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{has dropout probability -1.000000e-01, expected 0 <= p < 1}}
  %0 = llm.dropout %x, %s {p = -0.1 : f64, key = 0 : i64} : tensor<8xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{has dropout probability nan, expected 0 <= p < 1}}
  %0 = llm.dropout %x, %s {p = 0x7FF8000000000000 : f64, key = 0 : i64} : tensor<8xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<i32>) {
  // expected-error @below {{'seed' has shape [], expected [2]}}
  %0 = llm.dropout %x, %s {p = 0.1 : f64, key = 0 : i64} : tensor<8xf32>, tensor<i32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{requires attribute 'key'}}
  %0 = llm.dropout %x, %s {p = 0.1 : f64} : tensor<8xf32>, tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{has dropout probability 1.500000e+00, expected 0 <= p < 1}}
  %0:2 = llm.stored_dropout %x, %s {p = 1.5 : f64, key = 0 : i64} : (tensor<8xf32>, tensor<2xi32>) ->
    (tensor<8xf32>, tensor<8xi8>)
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{'mask' has shape [4], expected [8]}}
  %0:2 = llm.stored_dropout %x, %s {p = 0.1 : f64, key = 0 : i64} : (tensor<8xf32>, tensor<2xi32>) ->
    (tensor<8xf32>, tensor<4xi8>)
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %m: tensor<8xi8>) {
  // expected-error @below {{has dropout probability 1.000000e+00, expected 0 <= p < 1}}
  %0 = llm.apply_mask %x, %m {p = 1.0 : f64} : tensor<8xf32>, tensor<8xi8>
  return
}

// -----

func.func @f(%x: tensor<8xf32>, %m: tensor<2x4xi8>) {
  // expected-error @below {{'mask' has shape [2, 4], expected [8]}}
  %0 = llm.apply_mask %x, %m {p = 0.1 : f64} : tensor<8xf32>, tensor<2x4xi8>
  return
}
