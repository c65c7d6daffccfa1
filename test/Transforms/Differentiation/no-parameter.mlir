// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// Nothing to train.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  // expected-error @+1 {{depends on no parameter; mark what is to be trained with {llm.role = "param"}}}
  func.func @loss(%w: tensor<f32>) -> tensor<f32> {
    return %w : tensor<f32>
  }
}
