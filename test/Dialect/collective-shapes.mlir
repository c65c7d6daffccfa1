// Local shapes against global ones: the group divides the dimension, and all else is equal.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // Over both axes there are 8 ranks.
  %0 = llm.all_gather %x over ["dp", "tp"] {dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x48xf32>
  // expected-error @below {{'x' has shape [4, 6], expected [4, 3]}}
  %1 = llm.all_gather %x over ["dp", "tp"] {dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x24xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // expected-error @below {{splits dimension 1 of 'x', 6, over 4 ranks, which do not divide it}}
  %0 = llm.reduce_scatter %x over ["tp"] {dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has dimension 2, expected one of the 2 of 'x'}}
  %0 = llm.reduce_scatter %x over ["dp"] {dimension = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{mixes element types 'f32' and 'bf16'; insert llm.cast}}
  %0 = llm.reduce_scatter %x over ["dp"] {dimension = 0 : i64} : (tensor<4x6xf32>) -> tensor<2x6xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>, %d: tensor<2x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has a destination of type 'tensor<2x6xf32>', expected 'tensor<4x6xf32>'}}
  %0 = llm.all_gather %x over ["dp"] destination(%d) {dimension = 0 : i64} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 4>} {
  // expected-error @below {{splits dimension 1 of 'x', 6, over 4 ranks, which do not divide it}}
  %0 = llm.all_to_all %x over ["dp"] {concat = 0 : i64, split = 1 : i64} : (tensor<4x6xf32>) -> tensor<16x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has concat -1, expected one of the 2 dimensions of 'x'}}
  %0 = llm.all_to_all %x over ["dp"] {concat = -1 : i64, split = 1 : i64} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{'y' has shape [4, 6], expected [8, 3]}}
  %0 = llm.all_to_all %x over ["dp"] {concat = 0 : i64, split = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has root 2, expected a position from 0 to 1}}
  %0 = llm.broadcast %x over ["dp"] {root = 2 : i64} : tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has root -1, expected a position from 0 to 1}}
  %0 = llm.reduce %x over ["dp"] {root = -1 : i64} : tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<pp = 2>} {
  // expected-error @below {{shifts by 2 in a group of 2, expected a neighbour: not 0, and less than the group either way}}
  %0 = llm.send_receive %x over ["pp"] {shift = 2 : i64, wraps} : tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xi8>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{operand #0 must be statically shaped tensor without empty dimensions}}
  %0 = llm.all_reduce %x over ["dp"] : tensor<4x6xi8>
  return
}
