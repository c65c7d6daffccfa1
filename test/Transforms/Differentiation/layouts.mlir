// RUN: llmmem-opt --differentiate %s | FileCheck %s

// The gradient of x goes through the weight the other way; no transposed copy is made.
// CHECK: llm.linear_weight_grad %{{.+}}, %[[DY:.+]] layout(out_in)
// CHECK: %[[DX:.+]] = llm.linear %[[DY]], %{{.+}} layout(in_out)
// CHECK: llm.linear_weight_grad %{{.+}}, %[[DX]] layout(in_out)
// CHECK: llm.linear %[[DX]], %{{.+}} layout(out_in)
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %x: tensor<3x5xf32> {llm.role = "param"}, %w0: tensor<5x6xf32> {llm.role = "param"},
                  %w1: tensor<4x6xf32> {llm.role = "param"}) -> tensor<f32> {
    %0 = llm.linear %x, %w0 layout(in_out) : (tensor<3x5xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
    %y = llm.linear %0, %w1 layout(out_in) : (tensor<3x6xf32>, tensor<4x6xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
