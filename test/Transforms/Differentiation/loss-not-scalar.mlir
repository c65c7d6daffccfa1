// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// The first result must be one number.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  // expected-error @+1 {{returns a loss of type 'tensor<4xf32>'; expected one number, tensor<f32> or tensor<f64>}}
  func.func @loss(%w: tensor<4xf32> {llm.role = "param"}) -> tensor<4xf32> {
    return %w : tensor<4xf32>
  }
}
