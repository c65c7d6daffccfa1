// RUN: llmmem-opt --differentiate --verify-diagnostics %s

// A step is one line of ops.
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%w: tensor<f32> {llm.role = "param"}, %t: tensor<i1>) -> tensor<f32> {
    // expected-error @+1 {{has regions; a training step is straight-line: inline or outline them first}}
    %0 = tensor.generate {
      %c = tensor.extract %w[] : tensor<f32>
      tensor.yield %c : f32
    } : tensor<f32>
    return %0 : tensor<f32>
  }
}
