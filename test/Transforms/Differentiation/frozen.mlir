// A frozen parameter is read, and has no gradient, no state and no update; what only its gradient would read is not there.
// RUN: llmmem-opt --differentiate --split-input-file --verify-diagnostics %s | FileCheck %s --implicit-check-not=llm.linear_weight_grad --implicit-check-not=fixed.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[FIXED:[^:]*]]: tensor<4x4xf32> {llm.frozen, llm.name = "fixed", llm.role = "param"}
// CHECK-SAME: tensor<4xf32> {llm.donated = 1 : i64, llm.name = "b", llm.role = "param"}
// CHECK: %[[DY:.*]] = llm.cross_entropy_grad
// CHECK: %[[DX:.*]] = llm.linear %[[DY]], %[[FIXED]] layout(out_in)
// CHECK: %[[DB:.*]] = llm.sum_rows %[[DX]]
// CHECK: llm.sgd %{{.*}}, %[[DB]],
// CHECK-NOT: llm.sgd
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.frozen, llm.role = "param", llm.name = "fixed"},
                  %b: tensor<4xf32> {llm.role = "param", llm.name = "b"}) -> tensor<f32> {
    %h = llm.add_bias %x, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    %y = llm.linear %h, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}

// -----

module attributes {llm.training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>} {
  // expected-error @below {{depends on no parameter that is trained, as those that it reads are frozen; leave llm.frozen out of some}}
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %w: tensor<4x4xf32> {llm.frozen, llm.role = "param", llm.name = "fixed"}) -> tensor<f32> {
    %y = llm.linear %x, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
