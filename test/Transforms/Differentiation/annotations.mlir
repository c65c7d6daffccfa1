// RUN: llmmem-opt --differentiate %s | FileCheck %s

// Gradients carry the phase, the block of the forward op, and a name made from that of the value; what is a fact of the
// forward alone stays there.
// CHECK: llm.silu {{.*}} {llm.block = 3 : i64, llm.core_attention, llm.name = "h.3.act", llm.phase = "forward"}
// CHECK: llm.fill {llm.name = "loss.gradient", llm.phase = "backward"
// CHECK: llm.linear_weight_grad {{.*}} {llm.block = 3 : i64, llm.name = "w.gradient", llm.phase = "backward"}
// CHECK: llm.linear {{.*}} {llm.block = 3 : i64, llm.name = "h.3.act.gradient", llm.phase = "backward"}
// CHECK: llm.sgd {{.*}} {llm.block = 3 : i64, llm.name = "w.update", llm.phase = "update"
// CHECK: llm.silu_grad {{.*}} {llm.block = 3 : i64, llm.name = "v.gradient", llm.phase = "backward"}
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%t: tensor<3xi32>, %v: tensor<3x4xf32> {llm.role = "param", llm.name = "v"},
                  %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %0 = llm.silu %v {llm.block = 3 : i64, llm.core_attention, llm.name = "h.3.act"} : tensor<3x4xf32>
    %y = llm.linear %0, %w layout(in_out) {llm.block = 3 : i64, llm.name = "h.3.y"} : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t {llm.name = "loss"} : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
