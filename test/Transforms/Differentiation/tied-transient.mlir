// RUN: llmmem-opt --differentiate %s | FileCheck %s

// The first contribution to a tied weight stands alone, the later one goes on in its bytes.
// CHECK: %[[FIRST:.+]] = llm.linear_weight_grad %{{.+}}, %{{.+}} layout(out_in)
// CHECK: %[[SUM:.+]] = llm.embedding_grad %{{.+}}, %{{.+}} into(%[[FIRST]])
// CHECK-NEXT: %[[NEW:.+]] = llm.sgd %{{.+}}, %[[SUM]], %{{.+}} {
// CHECK-NEXT: return %{{.+}}, %[[NEW]] : tensor<f32>, tensor<4x4xf32>
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%ids: tensor<3xi32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %x = llm.embedding %ids, %w : (tensor<3xi32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %y = llm.linear %x, %w layout(out_in) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
