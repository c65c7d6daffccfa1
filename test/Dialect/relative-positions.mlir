// Biases by distance have a number for each distance of their scores, and buckets that distances fit in; a decoder reads ids.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%t: tensor<8x3xf32>) {
  // expected-error @below {{'bias' has shape [3, 10], expected [3, 9]}}
  %0 = llm.relative_bias %t {queries = 4 : i64, keys = 6 : i64, max_distance = 11 : i64} : tensor<8x3xf32> -> tensor<3x10xf32>
  return
}

// -----

func.func @f(%t: tensor<6x3xf32>) {
  // expected-error @below {{has 6 buckets, expected a multiple of 4}}
  %0 = llm.relative_bias %t {queries = 4 : i64, keys = 6 : i64, max_distance = 11 : i64, bidirectional} : tensor<6x3xf32> -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>) {
  // expected-error @below {{has a max_distance of 4, expected more than the 4 distances that have a bucket each}}
  %0 = llm.relative_bias %t {queries = 4 : i64, keys = 6 : i64, max_distance = 4 : i64} : tensor<8x3xf32> -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%t: tensor<8xf32>) {
  // expected-error @below {{has a table of shape [8], expected [buckets, heads]}}
  %0 = llm.relative_bias %t {queries = 4 : i64, keys = 6 : i64, max_distance = 11 : i64} : tensor<8xf32> -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>) {
  // expected-error @below {{has 0 queries and 6 keys, expected 1 to 2147483647 of each}}
  %0 = llm.relative_bias %t {queries = 0 : i64, keys = 6 : i64, max_distance = 11 : i64} : tensor<8x3xf32> -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%d: tensor<3x9xf32>, %into: tensor<8x4xf32>) {
  // expected-error @below {{'into' has type}}
  %0 = llm.relative_bias_grad %d into(%into) {queries = 4 : i64, keys = 6 : i64, max_distance = 11 : i64} : (tensor<3x9xf32>, tensor<8x4xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%s: tensor<2x3x4x6xf32>, %b: tensor<3x10xf32>) {
  // expected-error @below {{'bias' has shape [3, 10], expected [3, 9]}}
  %0 = llm.add_relative_bias %s, %b : tensor<2x3x4x6xf32>, tensor<3x10xf32>
  return
}

// -----

func.func @f(%s: tensor<2x3x4xf32>, %b: tensor<3x9xf32>) {
  // expected-error @below {{has scores of shape [2, 3, 4], expected [batch, heads, queries, keys]}}
  %0 = llm.add_relative_bias %s, %b : tensor<2x3x4xf32>, tensor<3x9xf32>
  return
}

// -----

func.func @f(%s: tensor<2x3x4x6xf32>) {
  // expected-error @below {{'sums' has shape [9, 3], expected [3, 9]}}
  %0 = llm.sum_diagonals %s : tensor<2x3x4x6xf32> -> tensor<9x3xf32>
  return
}

// -----

func.func @f(%l: tensor<8xi32>) {
  // expected-error @below {{'labels' has shape [8], expected [batch, seq]}}
  %0 = llm.shift_tokens %l {start = 0 : i64, padding = 0 : i64} : tensor<8xi32>
  return
}

// -----

func.func @f(%l: tensor<2x4xi32>) {
  // expected-error @below {{has a padding of -1, expected an id from 0 up}}
  %0 = llm.shift_tokens %l {start = 0 : i64, padding = -1 : i64} : tensor<2x4xi32>
  return
}
