// RUN: llmmem-opt --differentiate %s | FileCheck %s

// A clip reads the norm of all gradients, and every update reads the norm.
// CHECK: %[[NORM:.+]] = llm.global_norm %[[W:.+]], %[[B:.+]] {llm.name = "gradient_norm", llm.phase = "update"}
// CHECK-NEXT: llm.sgd %{{.+}}, %[[W]], %{{.+}} norm(%[[NORM]]) {clip_norm = 1.000000e+00
// CHECK-NEXT: llm.sgd %{{.+}}, %[[B]], %{{.+}} norm(%[[NORM]]) {clip_norm = 1.000000e+00
// CHECK-NEXT: return
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 1.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w"},
                  %b: tensor<4xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %y = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
