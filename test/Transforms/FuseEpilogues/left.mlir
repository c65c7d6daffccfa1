// These ops no product takes, for the reasons below.
//
// RUN: llmmem-opt --fuse-epilogues=which=generated --split-input-file %s | FileCheck %s
//
// CHECK-NOT: llm.kernel

// Reports and plans count by phase and by block.
func.func @phases(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) {llm.phase = "forward"} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %a = llm.gelu %h {llm.phase = "backward"} : tensor<1x4x8xf32>
  return %a : tensor<1x4x8xf32>
}

// -----

// Not even `%dy` is there before the product: it would have to wait, and its factors with it.
func.func @longer_lives(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %dy = llm.softmax %x : tensor<1x4x8xf32>
  %dh = llm.gelu_grad %h, %dy : tensor<1x4x8xf32>
  return %dh : tensor<1x4x8xf32>
}

// -----

// Threads of a product have few neighbours each, who would share the rounds of Philox.
func.func @dropout(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>, %seed: tensor<2xi32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %d = llm.dropout %h, %seed {p = 0.5 : f64, key = 1 : i64} : tensor<1x4x8xf32>, tensor<2xi32>
  return %d : tensor<1x4x8xf32>
}

// -----

// A norm needs whole rows of the product.
func.func @rows(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %p = llm.softmax %h : tensor<1x4x8xf32>
  return %p : tensor<1x4x8xf32>
}

// -----

// What nobody but the caller reads has no op to take.
func.func @returned(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  return %h : tensor<1x4x8xf32>
}
