// The printed form of every op of LlmBackwardOps.td parses again: the examples of its descriptions, and each optional part.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @linear_weight_grad(
// CHECK: llm.linear_weight_grad %arg0, %arg1 into(%arg2) layout(in_out)
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16>, tensor<768x3072xbf16>) -> tensor<768x3072xbf16>
func.func @linear_weight_grad(%x: tensor<8x1024x768xbf16>, %dy: tensor<8x1024x3072xbf16>, %acc: tensor<768x3072xbf16>)
  {
  %dw = llm.linear_weight_grad %x, %dy into(%acc) layout(in_out) : (tensor<8x1024x768xbf16>, tensor<8x1024x3072xbf16>,
    tensor<768x3072xbf16>) -> tensor<768x3072xbf16>
  return
}

// CHECK-LABEL: func.func @sum_rows(
// CHECK: llm.sum_rows %arg0 into(%arg1) : (tensor<8x1024x3072xbf16>, tensor<3072xbf16>) -> tensor<3072xbf16>
func.func @sum_rows(%dy: tensor<8x1024x3072xbf16>, %acc: tensor<3072xbf16>) {
  %db = llm.sum_rows %dy into(%acc) : (tensor<8x1024x3072xbf16>, tensor<3072xbf16>) -> tensor<3072xbf16>
  return
}

// CHECK-LABEL: func.func @embedding_grad(
// CHECK: llm.embedding_grad %arg0, %arg1 into(%arg2)
// CHECK-SAME: : (tensor<8x1024xi32>, tensor<8x1024x768xbf16>, tensor<50257x768xbf16>) -> tensor<50257x768xbf16>
func.func @embedding_grad(%ids: tensor<8x1024xi32>, %dy: tensor<8x1024x768xbf16>, %acc: tensor<50257x768xbf16>) {
  %dt = llm.embedding_grad %ids, %dy into(%acc) : (tensor<8x1024xi32>, tensor<8x1024x768xbf16>,
    tensor<50257x768xbf16>) -> tensor<50257x768xbf16>
  return
}

// CHECK-LABEL: func.func @positions_grad(
// CHECK: llm.positions_grad %arg0 into(%arg1)
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<1024x768xbf16>
func.func @positions_grad(%dy: tensor<8x1024x768xbf16>, %acc: tensor<1024x768xbf16>) {
  %dt = llm.positions_grad %dy into(%acc) : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @norm_weight_grad(
// CHECK: llm.norm_weight_grad %arg0, %arg1, %arg2 mean(%arg3)
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<768xbf16>
func.func @norm_weight_grad(%x: tensor<8x1024x768xbf16>, %dy: tensor<8x1024x768xbf16>, %rstd: tensor<8x1024xf32>,
  %mean: tensor<8x1024xf32>) {
  %dw = llm.norm_weight_grad %x, %dy, %rstd mean(%mean) : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>,
    tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<768xbf16>
  return
}

// CHECK-LABEL: func.func @layer_norm_grad(
// CHECK: llm.layer_norm_grad %arg0, %arg1, %arg2, %arg3, %arg4
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>, tensor<768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
func.func @layer_norm_grad(%x: tensor<8x1024x768xbf16>, %mean: tensor<8x1024xf32>, %rstd: tensor<8x1024xf32>, %w:
  tensor<768xbf16>, %dy: tensor<8x1024x768xbf16>) {
  %dx = llm.layer_norm_grad %x, %mean, %rstd, %w, %dy : (tensor<8x1024x768xbf16>, tensor<8x1024xf32>,
    tensor<8x1024xf32>, tensor<768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @rms_norm_grad(
// CHECK: llm.rms_norm_grad %arg0, %arg1, %arg2, %arg3
// CHECK-SAME: : (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>, tensor<4096xbf16>, tensor<1x8192x4096xbf16>) -> tensor<1x8192x4096xbf16>
func.func @rms_norm_grad(%x: tensor<1x8192x4096xbf16>, %rstd: tensor<1x8192xf32>, %w: tensor<4096xbf16>, %dy:
  tensor<1x8192x4096xbf16>) {
  %dx = llm.rms_norm_grad %x, %rstd, %w, %dy : (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>, tensor<4096xbf16>,
    tensor<1x8192x4096xbf16>) -> tensor<1x8192x4096xbf16>
  return
}

// CHECK-LABEL: func.func @attention_grad(
// CHECK: llm.attention_grad %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088387999999999994 : f64}
// CHECK-SAME: : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>, tensor<1x8192x4096xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>)
func.func @attention_grad(%q: tensor<1x8192x4096xbf16>, %k: tensor<1x8192x1024xbf16>, %v: tensor<1x8192x1024xbf16>,
  %out: tensor<1x8192x4096xbf16>, %lse: tensor<1x32x8192xf32>, %dout: tensor<1x8192x4096xbf16>) {
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %dout {heads = 32 : i64, kv_heads = 8 : i64, scale =
    0.088388 : f64} : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>,
    tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>, tensor<1x8192x4096xbf16>) -> (tensor<1x8192x4096xbf16>,
    tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>)
  return
}

// CHECK-LABEL: func.func @attention_values_transposed(
// CHECK: llm.attention_values_transposed %arg0, %arg1 {heads = 12 : i64, kv_heads = 12 : i64}
// CHECK-SAME: : (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
func.func @attention_values_transposed(%p: tensor<8x12x1024x1024xbf16>, %dout: tensor<8x1024x768xbf16>) {
  %dv = llm.attention_values_transposed %p, %dout {heads = 12 : i64, kv_heads = 12 : i64, scale = 1.0 : f64} :
    (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @softmax_grad(
// CHECK: llm.softmax_grad %arg0, %arg1 : tensor<8x12x1024x1024xbf16>
func.func @softmax_grad(%y: tensor<8x12x1024x1024xbf16>, %dy: tensor<8x12x1024x1024xbf16>) {
  %dx = llm.softmax_grad %y, %dy : tensor<8x12x1024x1024xbf16>
  return
}

// CHECK-LABEL: func.func @gelu_grad(
// CHECK: llm.gelu_grad %arg0, %arg1 : tensor<8x1024x3072xbf16>
func.func @gelu_grad(%x: tensor<8x1024x3072xbf16>, %dy: tensor<8x1024x3072xbf16>) {
  %dx = llm.gelu_grad %x, %dy : tensor<8x1024x3072xbf16>
  return
}

// CHECK-LABEL: func.func @silu_grad(
// CHECK: llm.silu_grad %arg0, %arg1 : tensor<1x8192x14336xbf16>
func.func @silu_grad(%x: tensor<1x8192x14336xbf16>, %dy: tensor<1x8192x14336xbf16>) {
  %dx = llm.silu_grad %x, %dy : tensor<1x8192x14336xbf16>
  return
}

// CHECK-LABEL: func.func @gelu_grad_2(
// CHECK: llm.gelu_grad %arg0, %arg1 {exact} : tensor<8xf32>
func.func @gelu_grad_2(%x: tensor<8xf32>, %dy: tensor<8xf32>) {
  %dx = llm.gelu_grad %x, %dy {exact} : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @softcap_grad(
// CHECK: llm.softcap_grad %arg0, %arg1 {cap = 3.000000e+01 : f64} : tensor<1x8192x256000xbf16>
func.func @softcap_grad(%y: tensor<1x8192x256000xbf16>, %dy: tensor<1x8192x256000xbf16>) {
  %dx = llm.softcap_grad %y, %dy {cap = 30.0 : f64} : tensor<1x8192x256000xbf16>
  return
}

// CHECK-LABEL: func.func @cross_entropy_grad(
// CHECK: llm.cross_entropy_grad %arg0, %arg1, %arg2, %arg3
// CHECK-SAME: : (tensor<8x1024x50257xbf16>, tensor<8x1024xf32>, tensor<8x1024xi32>, tensor<f32>) -> tensor<8x1024x50257xbf16>
func.func @cross_entropy_grad(%logits: tensor<8x1024x50257xbf16>, %lse: tensor<8x1024xf32>, %targets:
  tensor<8x1024xi32>, %dloss: tensor<f32>) {
  %dlogits = llm.cross_entropy_grad %logits, %lse, %targets, %dloss : (tensor<8x1024x50257xbf16>, tensor<8x1024xf32>,
    tensor<8x1024xi32>, tensor<f32>) -> tensor<8x1024x50257xbf16>
  return
}

// CHECK-LABEL: func.func @linear_weight_grad_2(
// CHECK: llm.linear_weight_grad %arg0, %arg1 layout(out_in) : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<2x8xf32>
func.func @linear_weight_grad_2(%x: tensor<4x8xf32>, %dy: tensor<4x2xf32>) {
  %dw = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: func.func @norm_weight_grad_2(
// CHECK: llm.norm_weight_grad %arg0, %arg1, %arg2 into(%arg3)
// CHECK-SAME: : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
func.func @norm_weight_grad_2(%x: tensor<4x8xf32>, %dy: tensor<4x8xf32>, %rstd: tensor<4xf32>, %acc: tensor<8xf32>) {
  %dw = llm.norm_weight_grad %x, %dy, %rstd into(%acc) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>,
    tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @norm_weight_grad_3(
// CHECK: llm.norm_weight_grad %arg0, %arg1, %arg2 mean(%arg3) into(%arg4)
// CHECK-SAME: : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
func.func @norm_weight_grad_3(%x: tensor<4x8xf32>, %dy: tensor<4x8xf32>, %rstd: tensor<4xf32>, %mean: tensor<4xf32>,
  %acc: tensor<8xf32>) {
  %dw = llm.norm_weight_grad %x, %dy, %rstd mean(%mean) into(%acc) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>,
    tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @attention_grad_2(
// CHECK: llm.attention_grad %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 seed(%arg6) {heads = 2 : i64, key = 4 : i64, kv_heads = 1 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, window = 3 : i64}
// CHECK-SAME: : (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>, tensor<2xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
func.func @attention_grad_2(%q: tensor<1x4x8xf32>, %k: tensor<1x4x4xf32>, %v: tensor<1x4x4xf32>, %out:
  tensor<1x4x8xf32>, %lse: tensor<1x2x4xf32>, %dout: tensor<1x4x8xf32>, %s: tensor<2xi32>) {
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %dout seed(%s) {heads = 2 : i64, kv_heads = 1 : i64,
    scale = 0.5 : f64, window = 3 : i64, p = 0.1 : f64, key = 4 : i64} : (tensor<1x4x8xf32>, tensor<1x4x4xf32>,
    tensor<1x4x4xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>, tensor<2xi32>) -> (tensor<1x4x8xf32>,
    tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// CHECK-LABEL: func.func @attention_sink_grad(
// CHECK: llm.attention_sink_grad %arg0, %arg1, %arg2, %arg1 into(%arg0)
// CHECK-SAME: : (tensor<2xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @attention_sink_grad(%z: tensor<2xf32>, %o: tensor<1x4x8xf32>, %l: tensor<1x2x4xf32>) {
  %d = llm.attention_sink_grad %z, %o, %l, %o into(%z)
    : (tensor<2xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @silu_grad_2(
// CHECK: llm.silu_grad %arg0, %arg0 {alpha = 1.702000e+00 : f64} : tensor<4x8xf32>
// CHECK: llm.clamp_grad %arg0, %{{.*}} {high = 7.000000e+00 : f64} : tensor<4x8xf32>
func.func @silu_grad_2(%x: tensor<4x8xf32>) {
  %y = llm.silu_grad %x, %x {alpha = 1.702 : f64} : tensor<4x8xf32>
  %z = llm.clamp_grad %x, %y {high = 7.0 : f64} : tensor<4x8xf32>
  return
}
