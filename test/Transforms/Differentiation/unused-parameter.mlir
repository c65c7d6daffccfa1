// RUN: llmmem-opt --differentiate --verify-diagnostics %s | FileCheck %s

// A parameter without influence has no state and no update, and is no result.
// CHECK-LABEL: func.func @step(
// CHECK-NOT: unused.
// CHECK: return %{{.+}}, %{{.+}} : tensor<f32>, tensor<3x4xf32>
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %y: tensor<3x4xf32> {llm.role = "param"},
                  // expected-warning @+1 {{the loss does not depend on parameter 'unused': it gets no gradient and no update}}
                  %unused: tensor<4xf32> {llm.role = "param", llm.name = "unused"}) -> tensor<f32> {
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
