// RUN: llmmem-opt --differentiate %s | FileCheck %s

// Nothing is built for the gradient of an input, nor through ops that no parameter reaches.
// CHECK: llm.gelu %
// CHECK: %[[DY:.+]] = llm.cross_entropy_grad
// CHECK-NEXT: %[[G:.+]] = llm.linear_weight_grad %{{.+}}, %[[DY]]
// CHECK-NEXT: llm.sgd %{{.+}}, %[[G]]
// CHECK-NEXT: return
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param"}, %frozen: tensor<4x4xf32>) -> tensor<f32> {
    %0 = llm.linear %x, %frozen layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %1 = llm.gelu %0 : tensor<3x4xf32>
    %y = llm.linear %1, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
