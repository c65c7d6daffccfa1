// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The update overwrites the parameter that is still being gathered.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %g: tensor<64xf32>, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<128xf32>) attributes {llm.arena = 512 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1028 : i64} {
  // expected-note @below {{which starts here}}
  %whole = llm.all_gather %p over ["dp"] {dimension = 0 : i64, llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<128xf32>
  // expected-error @below {{[flight] overwrites bytes that 'llm.all_gather' has in flight}}
  %0 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %w = llm.wait %whole {llm.offsets = array<i64: 0>} : tensor<128xf32>
  return %0, %w : tensor<64xf32>, tensor<128xf32>
}
