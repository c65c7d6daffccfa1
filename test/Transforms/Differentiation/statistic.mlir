// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// A loss that is computed from a statistic.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<1xi32>, %w: tensor<3x4xf32> {llm.role = "param"}, %s: tensor<4xf32>) -> tensor<f32> {
    // expected-error @+1 {{'llm.rms_norm' op has no rule for the gradient of result 1, a statistic; let the loss depend on result 0 alone}}
    %0, %rstd = llm.rms_norm %w, %s {eps = 1.0e-5 : f64} : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>)
    %y = llm.reshape %rstd : tensor<3xf32> -> tensor<1x3xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<1x3xf32>, tensor<1xi32>) -> (tensor<f32>, tensor<1xf32>)
    return %loss : tensor<f32>
  }
}
