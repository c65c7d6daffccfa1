// The printed form of every op of LlmUpdateOps.td parses again: the examples of its descriptions, and each optional part.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @global_norm(
// CHECK: llm.global_norm %arg0, %arg1 : (tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<f32>
func.func @global_norm(%dw: tensor<768x3072xbf16>, %db: tensor<3072xbf16>) {
  %norm = llm.global_norm %dw, %db : (tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @adamw(
// CHECK: llm.adamw %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 master(%arg6) {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64}
// CHECK-SAME: : (tensor<768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<f32>, tensor<i32>, tensor<768xf32>) -> (tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>)
func.func @adamw(%p: tensor<768xbf16>, %g: tensor<768xbf16>, %m: tensor<768xf32>, %v: tensor<768xf32>, %lr:
  tensor<f32>, %step: tensor<i32>, %w: tensor<768xf32>) {
  %p1, %m1, %v1, %w1 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w) {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps =
    1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>,
    tensor<f32>, tensor<i32>, tensor<768xf32>) -> (tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>)
  return
}

// CHECK-LABEL: func.func @sgd(
// CHECK: llm.sgd %arg0, %arg1, %arg2 {weight_decay = 0.000000e+00 : f64}
// CHECK-SAME: : (tensor<768xf32>, tensor<768xf32>, tensor<f32>) -> tensor<768xf32>
func.func @sgd(%p: tensor<768xf32>, %g: tensor<768xf32>, %lr: tensor<f32>) {
  %p1 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64} : (tensor<768xf32>, tensor<768xf32>, tensor<f32>) ->
    tensor<768xf32>
  return
}

// CHECK-LABEL: func.func @adamw_2(
// CHECK: llm.adamw %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 norm(%arg6) {beta1 = 9.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, clip_norm = 1.000000e+00 : f64, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64}
// CHECK-SAME: : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
func.func @adamw_2(%p: tensor<8xf32>, %g: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %lr: tensor<f32>,
  %step: tensor<i32>, %n: tensor<f32>) {
  %p1, %m1, %v1 = llm.adamw %p, %g, %m, %v, %lr, %step norm(%n) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 :
    f64, weight_decay = 0.0 : f64, clip_norm = 1.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
    tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @sgd_2(
// CHECK: llm.sgd %arg0, %arg1, %arg2 norm(%arg3) {clip_norm = 1.000000e+00 : f64, weight_decay = 1.000000e-01 : f64}
// CHECK-SAME: : (tensor<8xf64>, tensor<8xf64>, tensor<f64>, tensor<f64>) -> tensor<8xf64>
func.func @sgd_2(%p: tensor<8xf64>, %g: tensor<8xf64>, %lr: tensor<f64>, %n: tensor<f64>) {
  %p1 = llm.sgd %p, %g, %lr norm(%n) {weight_decay = 0.1 : f64, clip_norm = 1.0 : f64} : (tensor<8xf64>,
    tensor<8xf64>, tensor<f64>, tensor<f64>) -> tensor<8xf64>
  return
}

// CHECK-LABEL: func.func @adjust_loss_scale(
// CHECK: llm.adjust_loss_scale %arg0, %arg1, %arg2, %arg3 {backoff = 5.000000e-01 : f64, clip_norm = 1.000000e+00 : f64, growth = 2.000000e+00 : f64, interval = 2000 : i64}
// CHECK-SAME: : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
// CHECK: llm.sgd %arg4, %arg5, %arg1 factor(%{{.+}}) {weight_decay = 0.000000e+00 : f64}
// CHECK: llm.adamw %{{.+}}, %arg5, %arg6, %arg6, %arg1, %{{.+}} factor(%{{.+}}) {beta1 = 9.000000e-01 : f64
func.func @adjust_loss_scale(%norm: tensor<f32>, %scale: tensor<f32>, %good: tensor<f32>, %updates: tensor<f32>,
  %p: tensor<8xf16>, %g: tensor<8xf16>, %m: tensor<8xf32>) {
  %factor, %scale1, %good1, %updates1, %step = llm.adjust_loss_scale %norm, %scale, %good, %updates
    {growth = 2.0 : f64, backoff = 0.5 : f64, interval = 2000 : i64, clip_norm = 1.0 : f64}
    : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
  %p1 = llm.sgd %p, %g, %scale factor(%factor) {weight_decay = 0.0 : f64}
    : (tensor<8xf16>, tensor<8xf16>, tensor<f32>, tensor<f32>) -> tensor<8xf16>
  %p2, %m2, %v2 = llm.adamw %p1, %g, %m, %m, %scale, %step factor(%factor)
    {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64}
    : (tensor<8xf16>, tensor<8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<i32>, tensor<f32>)
    -> (tensor<8xf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @adamw_by_blocks(
// CHECK: llm.adamw %arg0, %arg0, %arg1, %arg1, %arg2, %arg3 master(%arg0) scales(%arg4, %arg4) {beta1 = 9.000000e-01 : f64, beta2 = 0.98999999999999999 : f64, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64}
// CHECK-SAME: -> (tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<2xf32>, tensor<2xf32>, tensor<300xf32>)
func.func @adamw_by_blocks(%p: tensor<300xf32>, %m: tensor<300xi8>, %lr: tensor<f32>, %step: tensor<i32>, %a: tensor<2xf32>) -> tensor<2xf32> {
  %0:6 = llm.adamw %p, %p, %m, %m, %lr, %step master(%p) scales(%a, %a) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
    weight_decay = 0.0 : f64} : (tensor<300xf32>, tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<f32>,
    tensor<i32>, tensor<300xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<300xf32>, tensor<300xi8>, tensor<300xi8>, tensor<2xf32>, tensor<2xf32>, tensor<300xf32>)
  return %0#4 : tensor<2xf32>
}
