// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// Two steps cannot be.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%w: tensor<f32> {llm.role = "param"}) -> tensor<f32> {
    %0 = llm.gelu %w : tensor<f32>
    return %0 : tensor<f32>
  }
  // expected-error @+1 {{stands where the training step of @loss is to be; remove one of the two}}
  func.func private @step()
}
