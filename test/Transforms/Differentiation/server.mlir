// A server of dp: gradients are reduced to it, it alone has the state and updates, and what it has updated is broadcast in the
// parameter's bytes.
// RUN: llmmem-opt "--parallelize=mesh=dp=2 data-parallel=server" --differentiate %s | FileCheck %s

#training = #llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%x: tensor<4x4xbf16> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %w: tensor<3x4xbf16> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %y = llm.linear %x, %w layout(out_in) : (tensor<4x4xbf16>, tensor<3x4xbf16>) -> tensor<4x3xbf16>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x3xbf16>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:arg[0-9]+]]: tensor<3x4xbf16> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 0, server = true>, llm.donated = 1 : i64
// CHECK-SAME: tensor<3x4xf32> {{{.*}}llm.name = "w.first_moment", llm.role = "optimizer_state", llm.server = ["dp"]}
// CHECK-SAME: tensor<3x4xf32> {{{.*}}llm.name = "w.master", llm.role = "optimizer_state", llm.server = ["dp"]}
// CHECK-SAME: %[[G:[a-z0-9]+]]: tensor<3x4xbf16> {{{.*}}llm.name = "w.gradient", llm.role = "gradient"}
// CHECK: %[[OWN:.*]] = llm.linear_weight_grad %{{.*}} into(%[[G]])
// CHECK-NEXT: %[[SUM:.*]] = llm.reduce %[[OWN]] over ["dp"] {llm.name = "w.gradient.sum", llm.phase = "backward", root = 0 : i64} : tensor<3x4xbf16>
// CHECK-NEXT: %[[NEW:[^,]*]], {{.*}} = llm.adamw %[[W]], %[[SUM]], {{.*}}server = ["dp"]
// CHECK-NEXT: %[[GIVEN:.*]] = llm.broadcast %[[NEW]] over ["dp"] {llm.name = "w.updated", llm.phase = "update", root = 0 : i64}
// CHECK-NEXT: return %{{[^,]*}}, %[[GIVEN]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SUM]] :
