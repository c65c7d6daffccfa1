// A GPU has no kernel that rounds activations, and says how to do without.
// RUN: not llmmem-opt --convert-step-to-kernels=target=gpu %s 2>&1 | FileCheck %s

func.func @step(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>) -> tensor<2x8xf32> attributes {llm.arena = 256 : i64} {
  // CHECK: gpu-rounded-activations.mlir:[[@LINE+1]]:{{[0-9]+}}: error: 'llm.linear' op rounds its activations ('activation_group'), which no kernel of a GPU does; import the model without --activations
  %0 = llm.linear %x, %w scales(%s) layout(out_in) {activation_group = 64 : i64, llm.offsets = array<i64: 0>}
    : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
