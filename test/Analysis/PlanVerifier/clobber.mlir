// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The update stands before the last read of the parameter that it overwrites.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %g: tensor<64xf32>, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 256 : i64, llm.peak = 772 : i64} {
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 0 after its bytes were overwritten}}
  %1 = llm.gelu %p {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
