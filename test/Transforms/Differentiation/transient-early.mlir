// RUN: llmmem-opt --differentiate %s | FileCheck %s

// A transient gradient ends at once: the update of w1 stands after the last reader of w1, before the backward goes on.
// CHECK: %[[G1:.+]] = llm.linear_weight_grad
// CHECK-NEXT: %[[DX:.+]] = llm.linear %{{.+}}, %[[W1:.+]] layout(out_in)
// CHECK-NEXT: llm.sgd %[[W1]], %[[G1]]
// CHECK-NEXT: %[[G0:.+]] = llm.linear_weight_grad %{{.+}}, %[[DX]]
// CHECK-NEXT: llm.sgd %{{.+}}, %[[G0]]
// CHECK-NEXT: return
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w0: tensor<4x4xf32> {llm.role = "param", llm.name = "w0"},
                  %w1: tensor<4x4xf32> {llm.role = "param", llm.name = "w1"}) -> tensor<f32> {
    %0 = llm.linear %x, %w0 layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %y = llm.linear %0, %w1 layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
