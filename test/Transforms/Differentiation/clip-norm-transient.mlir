// RUN: llmmem-opt --differentiate --verify-diagnostics %s | FileCheck %s

// With a clip, updates wait for the norm although gradients are transient, and it is said so.
// CHECK: %[[NORM:.+]] = llm.global_norm
// CHECK-NEXT: llm.sgd {{.*}}norm(%[[NORM]])
// CHECK-NEXT: llm.sgd {{.*}}norm(%[[NORM]])
// CHECK-NEXT: return
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 1.0 : f64>
module attributes {llm.training = #training} {
  // expected-remark @+1 {{a clip by the global norm keeps every gradient until the last one is there}}
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w"},
                  %b: tensor<4xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %y = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
