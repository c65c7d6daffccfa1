// RUN: llmmem-opt --differentiate %s | FileCheck %s

// The gradient draws the mask of the forward again: the same seed, p and key.
// CHECK: llm.dropout %{{.+}}, %[[SEED:.+]] {key = 7 : i64, {{.*}}p = 2.500000e-01
// CHECK: %[[DY:.+]] = llm.cross_entropy_grad
// CHECK: llm.dropout %[[DY]], %[[SEED]] {key = 7 : i64, {{.*}}p = 2.500000e-01
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %seed: tensor<2xi32>, %w: tensor<3x4xf32> {llm.role = "param"}) -> tensor<f32> {
    %y = llm.dropout %w, %seed {p = 0.25 : f64, key = 7 : i64} : tensor<3x4xf32>, tensor<2xi32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
