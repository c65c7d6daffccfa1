// RUN: llmmem-opt --differentiate %s | FileCheck %s

// With an f64 loss the learning rate and the moments are f64.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<f64> {llm.name = "learning_rate"
// CHECK-SAME: tensor<4x4xf64> {llm.donated = 2 : i64, llm.name = "w.first_moment"
// CHECK-SAME: tensor<4x4xf64> {llm.donated = 3 : i64, llm.name = "w.second_moment"
// CHECK-NOT: w.master
// CHECK: llm.fill {{.*}} : tensor<f64>
#training = #llm.training<optimizer = adamw, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf64>, %t: tensor<3xi32>, %w: tensor<4x4xf64> {llm.role = "param", llm.name = "w"}) -> tensor<f64> {
    %y = llm.linear %x, %w layout(in_out) : (tensor<3x4xf64>, tensor<4x4xf64>) -> tensor<3x4xf64>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf64>, tensor<3xi32>) -> (tensor<f64>, tensor<3xf64>)
    return %loss : tensor<f64>
  }
}
