// RUN: llmmem-opt --differentiate %s | FileCheck %s

// Nothing reads the bias in the backward, and its gradient is there early. But mean and rstd come from an op that reads
// it, and layer_norm_grad reads them: were the bias overwritten before, they could not be computed again.
// CHECK: llm.sum_rows {{.*}}llm.name = "b.gradient"
// CHECK-NEXT: llm.layer_norm_grad
// CHECK-NEXT: llm.sgd {{.*}}llm.name = "v.update"
// CHECK-NEXT: llm.sgd {{.*}}llm.name = "b.update"
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %v: tensor<3x4xf32> {llm.role = "param", llm.name = "v"},
                  %w: tensor<4xf32>, %b: tensor<4xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %y, %mean, %rstd = llm.layer_norm %v, %w, %b {eps = 1.0e-5 : f64}
       : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
