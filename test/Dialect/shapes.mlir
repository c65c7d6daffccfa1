// Casts, reshapes, splits and concats move elements and lose none.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'y' has shape [4, 2], expected [2, 4]}}
  %0 = llm.cast %x : tensor<2x4xf32> -> tensor<4x2xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{changes the number of elements from 8 to 6}}
  %0 = llm.reshape %x : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0 = llm.reshape %x : tensor<2x4xf32> -> tensor<8xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has parts of 6 columns together, expected 8}}
  %0:2 = llm.split %x : (tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has a part of shape [3, 4] of a whole of shape [2, 8]}}
  %0:2 = llm.split %x : (tensor<2x8xf32>) -> (tensor<3x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{'a part' has rank 0, expected at least 1}}
  %0:2 = llm.split %x : (tensor<2x8xf32>) -> (tensor<f32>, tensor<2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'the whole' has rank 0, expected at least 1}}
  %0:2 = llm.split %x : (tensor<f32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has no parts}}
  llm.split %x : (tensor<2x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0:2 = llm.split %x : (tensor<2x8xf32>) -> (tensor<2x4xbf16>, tensor<2x4xbf16>)
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) {
  // expected-error @below {{has parts of 8 columns together, expected 9}}
  %0 = llm.concat %a, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x9xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{has no parts}}
  %0 = llm.concat : () -> tensor<2x9xf32>
  return
}
