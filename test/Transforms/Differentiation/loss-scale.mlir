// RUN: llmmem-opt --differentiate %s | FileCheck %s
// RUN: llmmem-opt --differentiate --group-loss-head %s | FileCheck %s --check-prefix=HEAD

// The gradient of a scaled loss is its scale; updates read one factor, and count the steps that were not skipped.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[SCALE:[a-z0-9_]+]]: tensor<f32> {llm.donated = 3 : i64, llm.initial = 6.553600e+04 : f64, llm.name = "loss_scale", llm.role = "optimizer_state"}
// CHECK-SAME: %[[GOOD:[a-z0-9_]+]]: tensor<f32> {llm.donated = 4 : i64, llm.name = "loss_scale.good_steps", llm.role = "optimizer_state"}
// CHECK-SAME: %[[UPDATES:[a-z0-9_]+]]: tensor<f32> {llm.donated = 5 : i64, llm.name = "loss_scale.updates", llm.role = "optimizer_state"}
// CHECK-NOT: llm.fill
// CHECK: llm.cross_entropy_grad %{{[^ ]+}}, %{{[^ ]+}}, %{{[^ ]+}}, %[[SCALE]]
// CHECK: %[[NORM:.+]] = llm.global_norm
// CHECK-NEXT: %[[FACTOR:.+]], %[[NEWSCALE:.+]], %[[NEWGOOD:.+]], %[[NEWUPDATES:.+]], %[[STEP:.+]] = llm.adjust_loss_scale %[[NORM]], %[[SCALE]], %[[GOOD]], %[[UPDATES]] {backoff = 5.000000e-01 : f64, clip_norm = 1.000000e+00 : f64, growth = 2.000000e+00 : f64, interval = 2000 : i64
// CHECK: llm.lion %{{.+}} factor(%[[FACTOR]]) {
// CHECK-NOT: clip_norm
// CHECK: return %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %[[NEWSCALE]], %[[NEWGOOD]], %[[NEWUPDATES]]

// HEAD: llm.loss_head {{.*}} dloss(%{{.+}}) layout
#training = #llm.training<optimizer = lion, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 1.0 : f64,
  loss_scaling = <initial = 65536.0 : f64, growth = 2.0 : f64, backoff = 0.5 : f64, interval = 2000>>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>, %v: tensor<4x4xf32> {llm.role = "param", llm.name = "v"},
                  %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w", llm.frozen}) -> tensor<f32> {
    %h = llm.linear %x, %v layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %y = llm.linear %h, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
