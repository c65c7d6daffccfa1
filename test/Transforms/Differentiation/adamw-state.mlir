// RUN: llmmem-opt --differentiate %s | FileCheck %s

// Two moments in f32 for each parameter, 12 bytes in addition to the 4 of the weight with its gradient: 16. Arguments are
// grouped by parameter; results are the loss, the parameters, the states, the gradients.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 1 : i64, llm.name = "w", llm.role = "param"}
// CHECK-SAME: tensor<4xf32> {llm.donated = 2 : i64, llm.name = "b", llm.role = "param"}
// CHECK-SAME: tensor<f32> {llm.name = "learning_rate", llm.role = "input"}
// CHECK-SAME: tensor<i32> {llm.name = "step", llm.role = "input"}
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 3 : i64, llm.name = "w.first_moment", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 4 : i64, llm.name = "w.second_moment", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4x4xf32> {llm.donated = 7 : i64, llm.name = "w.gradient", llm.role = "gradient"}
// CHECK-SAME: tensor<4xf32> {llm.donated = 5 : i64, llm.name = "b.first_moment", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4xf32> {llm.donated = 6 : i64, llm.name = "b.second_moment", llm.role = "optimizer_state"}
// CHECK-SAME: tensor<4xf32> {llm.donated = 8 : i64, llm.name = "b.gradient", llm.role = "gradient"}
// CHECK-NOT: @loss
// CHECK: return %{{.+}} : tensor<f32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>
#training = #llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w"},
                  %b: tensor<4xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %y = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
