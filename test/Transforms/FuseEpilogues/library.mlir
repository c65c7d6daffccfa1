// Without `generated`, only what libraries compute at the end of a product: gelu, and its gradient where the product is
// what is multiplied, not what is differentiated at.
//
// RUN: llmmem-opt --fuse-epilogues --split-input-file %s | FileCheck %s
//
// CHECK-NOT: llm.kernel

func.func @residual(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %s = llm.add %x, %h : tensor<1x4x8xf32>
  return %s : tensor<1x4x8xf32>
}

// -----

func.func @place(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>, %dy: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %h = llm.linear %x, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %dh = llm.gelu_grad %h, %dy : tensor<1x4x8xf32>
  return %dh : tensor<1x4x8xf32>
}
