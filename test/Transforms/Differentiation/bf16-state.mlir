// RUN: llmmem-opt --differentiate %s | FileCheck %s

// Mixed precision: weight and gradient in bf16, moments and a master copy in f32, the learning rate as wide as the loss.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<f32> {llm.name = "learning_rate"
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 2 : i64, llm.name = "w.first_moment", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 3 : i64, llm.name = "w.second_moment", llm.role = "optimizer_state"}
// CHECK-SAME: %[[MASTER:[a-z0-9]+]]: tensor<4x4xf32> {llm.donated = 4 : i64, llm.name = "w.master", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4x4xbf16> {llm.donated = 5 : i64, llm.name = "w.gradient", llm.role = "gradient"}
// CHECK: llm.adamw {{.*}} master(%[[MASTER]])
#training = #llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xbf16>, %t: tensor<3xi32>, %w: tensor<4x4xbf16> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %y = llm.linear %x, %w layout(in_out) : (tensor<3x4xbf16>, tensor<4x4xbf16>) -> tensor<3x4xbf16>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xbf16>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
