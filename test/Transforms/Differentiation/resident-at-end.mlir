// RUN: llmmem-opt --differentiate %s | FileCheck %s

// With resident gradients all updates stand at the end, in the order of the parameters.
// CHECK: %[[G1:.+]] = llm.linear_weight_grad
// CHECK: %[[G0:.+]] = llm.linear_weight_grad
// CHECK-NEXT: llm.sgd %{{.+}}, %[[G0]]
// CHECK-NEXT: llm.sgd %{{.+}}, %[[G1]]
// CHECK-NEXT: return
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w0: tensor<4x4xf32> {llm.role = "param", llm.name = "w0"},
                  %w1: tensor<4x4xf32> {llm.role = "param", llm.name = "w1"}) -> tensor<f32> {
    %0 = llm.linear %x, %w0 layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %y = llm.linear %0, %w1 layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
