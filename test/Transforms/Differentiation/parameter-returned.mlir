// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// The update takes over the bytes of the parameter: the old one cannot be a result.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  // expected-error @+1 {{returns parameter 'w' as it is, and the update overwrites it; return what is computed from it}}
  func.func @loss(%w: tensor<f32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    return %w : tensor<f32>
  }
}
