// A micro-batch is named once, exists, and has its part of the rows; a seed of one has four words.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<8x16xi32>, %n: tensor<i32>, %s: tensor<2xi32>) {
  %0 = llm.micro_batch %x at(%n) {of = 4 : i64} : (tensor<8x16xi32>, tensor<i32>) -> tensor<2x16xi32>
  %1 = llm.micro_batch_seed %s {number = 3 : i64, of = 4 : i64} : (tensor<2xi32>) -> tensor<4xi32>
  // expected-error @below {{is micro-batch 4, expected one from 0 to 3}}
  %2 = llm.micro_batch %x {number = 4 : i64, of = 4 : i64} : (tensor<8x16xi32>) -> tensor<2x16xi32>
  return
}

// -----

func.func @f(%x: tensor<8x16xi32>) {
  // expected-error @below {{has its number nowhere, expected an operand at(%number) or an attribute}}
  %0 = llm.micro_batch %x {of = 4 : i64} : (tensor<8x16xi32>) -> tensor<2x16xi32>
  return
}

// -----

func.func @f(%x: tensor<8x16xi32>) {
  // expected-error @below {{whose first dimension is no multiple of 3 micro-batches}}
  %0 = llm.micro_batch %x {number = 0 : i64, of = 3 : i64} : (tensor<8x16xi32>) -> tensor<2x16xi32>
  return
}

// -----

func.func @f(%x: tensor<8x16xi32>) {
  // expected-error @below {{'y' has shape [4, 16], expected [2, 16]}}
  %0 = llm.micro_batch %x {number = 0 : i64, of = 4 : i64} : (tensor<8x16xi32>) -> tensor<4x16xi32>
  return
}
