// A donated argument that its update reads as another operand, too, cannot be overwritten by it.
// RUN: llmmem-opt --plan-arena --verify-diagnostics %s

// expected-error @below {{argument 0 is donated to result 0, but no chain of in-place results leads from one to the other}}
func.func @step(%x: tensor<64x64xf32> {llm.donated = 0 : i64}, %dy: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %g = llm.linear_weight_grad %x, %dy into(%x) layout(in_out) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %g : tensor<64x64xf32>
}
