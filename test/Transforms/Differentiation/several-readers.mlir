// RUN: llmmem-opt --differentiate %s | FileCheck %s

// A value with two readers: its gradient is the sum, and the weight reads the sum.
// CHECK: %[[DY:.+]] = llm.cross_entropy_grad
// CHECK: %[[B:.+]] = llm.mul %[[DY]], %[[G:.+]] {
// CHECK: %[[A:.+]] = llm.mul %[[DY]], %[[X:.+]] {
// CHECK: %[[GELU:.+]] = llm.gelu_grad %[[X]], %[[A]]
// CHECK: %[[SUM:.+]] = llm.add %[[B]], %[[GELU]]
// CHECK: llm.linear_weight_grad %{{.+}}, %[[SUM]] layout(in_out)
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param"}) -> tensor<f32> {
    %0 = llm.linear %x, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %1 = llm.gelu %0 : tensor<3x4xf32>
    %y = llm.mul %0, %1 : tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
