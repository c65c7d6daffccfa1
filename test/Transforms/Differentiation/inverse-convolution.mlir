// The derivative of a convolution has no derivative itself, and says so.
// RUN: llmmem-opt %s --differentiate --verify-diagnostics

#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<2x4x6xf32>, %t: tensor<2x4xi32>, %w: tensor<3x6xf32> {llm.role = "param"}) -> tensor<f32> {
    // expected-error @below {{has no derivative where it is 'inverse': that is a derivative already}}
    %y = llm.causal_conv %x, %w {inverse} : tensor<2x4x6xf32>, tensor<3x6xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<2x4x6xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
    return %loss : tensor<f32>
  }
}
