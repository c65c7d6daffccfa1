// A transpose names each dimension once; a slice and a pad have their range in the whole.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{has order [0, 1], expected each of the 3 dimensions of x once}}
  %0 = llm.transpose %x {order = array<i64: 0, 1>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{has order [0, 2, 2], expected each of the 3 dimensions of x once}}
  %0 = llm.transpose %x {order = array<i64: 0, 2, 2>} : tensor<2x3x4xf32> -> tensor<2x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>) {
  // expected-error @below {{'y' has shape [2, 3, 4], expected [2, 4, 3]}}
  %0 = llm.transpose %x {order = array<i64: 0, 2, 1>} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has a range of 4 columns from 5 on, but the whole has 8}}
  %0 = llm.slice %x {begin = 5 : i64} : tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xf32>) {
  // expected-error @below {{has a range of shape [3, 4] in a whole of shape [2, 8]}}
  %0 = llm.slice %x {begin = 0 : i64} : tensor<2x8xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{has a range of 4 columns from -1 on, but the whole has 8}}
  %0 = llm.pad %x {begin = -1 : i64} : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32'; insert llm.cast}}
  %0 = llm.pad %x {begin = 0 : i64} : tensor<2x4xf32> -> tensor<2x8xbf16>
  return
}
