// A gated feed-forward becomes one op, and its gradients another, which computes the wide values again from x. Outside of the two
// nothing is 12 wide but weights and their gradients.
// RUN: llmmem-opt %s --differentiate --group-feed-forward=granule=4 | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK-NOT: tensor<2x8x12xf32>
// CHECK: llm.tiled(%[[X:.*]] = %{{.*}}, %[[WG:.*]] = %{{.*}}, %[[WU:.*]] = %{{.*}}, %[[WD:.*]] = %{{.*}}) :
// CHECK-SAME: -> tensor<2x8x4xf32> {
// CHECK-NEXT: %[[G:.*]] = llm.linear %[[X]], %[[WG]] layout(out_in)
// CHECK-NEXT: %[[U:.*]] = llm.linear %[[X]], %[[WU]] layout(out_in)
// CHECK-NEXT: %[[A:.*]] = llm.silu %[[G]]
// CHECK-NEXT: %[[H:.*]] = llm.mul %[[A]], %[[U]]
// CHECK-NEXT: %[[D:.*]] = llm.linear %[[H]], %[[WD]] layout(out_in)
// CHECK-NEXT: llm.tiled_yield %[[D]]
// CHECK-NEXT: } attributes {chunk = 16 : i64, granule = 4 : i64, llm.block = 0 : i64, llm.name = "down", llm.phase = "forward"}
// CHECK-NOT: tensor<2x8x12xf32>
// CHECK: %[[DY:.*]] = llm.linear {{.*}}llm.name = "down.gradient"
// CHECK: %[[R:.*]]:4 = llm.tiled(%[[X:.*]] = %{{.*}}, %[[WG:.*]] = %{{.*}}, %[[WU:.*]] = %{{.*}}, %[[DD:.*]] = %[[DY]], %[[WD:.*]] = %{{.*}}) :
// CHECK-SAME: -> (tensor<4x12xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<2x8x4xf32>) {
// CHECK-NEXT: %[[G:.*]] = llm.linear %[[X]], %[[WG]] layout(out_in)
// CHECK-NEXT: %[[U:.*]] = llm.linear %[[X]], %[[WU]] layout(out_in)
// CHECK-NEXT: %[[A:.*]] = llm.silu %[[G]]
// CHECK-NEXT: %[[H:.*]] = llm.mul %[[A]], %[[U]]
// CHECK-NEXT: %[[DWD:.*]] = llm.linear_weight_grad %[[H]], %[[DD]] layout(out_in)
// CHECK-NEXT: %[[DH:.*]] = llm.linear %[[DD]], %[[WD]] layout(in_out)
// CHECK-NEXT: %[[DA:.*]] = llm.mul %[[DH]], %[[U]]
// CHECK-NEXT: %[[DU:.*]] = llm.mul %[[DH]], %[[A]]
// CHECK-NEXT: %[[DG:.*]] = llm.silu_grad %[[G]], %[[DA]]
// CHECK-NEXT: %[[DWU:.*]] = llm.linear_weight_grad %[[X]], %[[DU]] layout(out_in)
// CHECK-NEXT: %[[XU:.*]] = llm.linear %[[DU]], %[[WU]] layout(in_out)
// CHECK-NEXT: %[[DWG:.*]] = llm.linear_weight_grad %[[X]], %[[DG]] layout(out_in)
// CHECK-NEXT: %[[XG:.*]] = llm.linear %[[DG]], %[[WG]] layout(in_out)
// CHECK-NEXT: %[[DX:.*]] = llm.add %[[XU]], %[[XG]]
// CHECK-NEXT: llm.tiled_yield %[[DWD]], %[[DWU]], %[[DWG]], %[[DX]] :
// CHECK-NEXT: } attributes {chunk = 16 : i64, granule = 4 : i64, llm.block = 0 : i64, llm.name = "wd.gradient", llm.phase = "backward", llm.result_names = ["wd.gradient", "wu.gradient", "wg.gradient", "norm.gradient"]}
// CHECK-NOT: tensor<2x8x12xf32>
// CHECK: return
module attributes {llm.training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64,
  weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>} {
func.func @loss(%x: tensor<2x8x4xf32> {llm.name = "x", llm.role = "param"}, %wg: tensor<12x4xf32> {llm.name = "wg", llm.role = "param"},
    %wu: tensor<12x4xf32> {llm.name = "wu", llm.role = "param"}, %wd: tensor<4x12xf32> {llm.name = "wd", llm.role = "param"},
    %v: tensor<9x4xf32> {llm.name = "v", llm.role = "param"}, %t: tensor<2x8xi32> {llm.name = "targets", llm.role = "input"}) -> tensor<f32> {
  %n = llm.scale %x {factor = 2.0 : f64, llm.block = 0 : i64, llm.name = "norm"} : tensor<2x8x4xf32>
  %gate = llm.linear %n, %wg layout(out_in) {llm.block = 0 : i64, llm.name = "gate"} : (tensor<2x8x4xf32>, tensor<12x4xf32>) -> tensor<2x8x12xf32>
  %up = llm.linear %n, %wu layout(out_in) {llm.block = 0 : i64, llm.name = "up"} : (tensor<2x8x4xf32>, tensor<12x4xf32>) -> tensor<2x8x12xf32>
  %act = llm.silu %gate {llm.block = 0 : i64, llm.name = "act"} : tensor<2x8x12xf32>
  %gated = llm.mul %act, %up {llm.block = 0 : i64, llm.name = "gated"} : tensor<2x8x12xf32>
  %down = llm.linear %gated, %wd layout(out_in) {llm.block = 0 : i64, llm.name = "down"} : (tensor<2x8x12xf32>, tensor<4x12xf32>) -> tensor<2x8x4xf32>
  %logits = llm.linear %down, %v layout(out_in) {llm.name = "logits"} : (tensor<2x8x4xf32>, tensor<9x4xf32>) -> tensor<2x8x9xf32>
  %loss, %lse = llm.cross_entropy %logits, %t {llm.name = "loss"} : (tensor<2x8x9xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  return %loss : tensor<f32>
}
}
