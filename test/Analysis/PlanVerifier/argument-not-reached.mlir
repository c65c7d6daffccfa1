// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The new parameter is donated the old one's bytes, but stands in the arena.
// expected-error @below {{[argument] argument 0 is donated to result 0, which does not lie in its bytes}}
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %g: tensor<64xf32>, %lr: tensor<f32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 772 : i64} {
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
