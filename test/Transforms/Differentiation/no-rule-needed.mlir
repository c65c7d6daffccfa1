// RUN: llmmem-opt --differentiate %s | FileCheck %s

// An op without a rule may stand where no gradient passes.
// CHECK: math.exp
// CHECK: llm.sgd
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %x: tensor<3x4xf32>, %w: tensor<3x4xf32> {llm.role = "param"}) -> tensor<f32> {
    %0 = math.exp %x : tensor<3x4xf32>
    %y = llm.mul %0, %w : tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
