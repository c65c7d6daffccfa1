// The printed form of every op of LlmForwardOps.td parses again: the examples of its descriptions, and each optional part.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// A scaling is long, and stands once at the head.
// CHECK: #rope_scaling = #llm.rope_scaling<divisors = dense<8.000000e+00> : tensor<1xf64>, magnitude = 1.500000e+00 : f64>

// CHECK-LABEL: func.func @linear(
// CHECK: llm.linear %arg0, %arg1 bias(%arg2) layout(in_out)
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<8x1024x3072xbf16>
func.func @linear(%x: tensor<8x1024x768xbf16>, %w: tensor<768x3072xbf16>, %b: tensor<3072xbf16>) {
  %y = llm.linear %x, %w bias(%b) layout(in_out) : (tensor<8x1024x768xbf16>, tensor<768x3072xbf16>, tensor<3072xbf16>)
    -> tensor<8x1024x3072xbf16>
  return
}

// CHECK-LABEL: func.func @embedding(
// CHECK: llm.embedding %arg0, %arg1 : (tensor<8x1024xi32>, tensor<50257x768xbf16>) -> tensor<8x1024x768xbf16>
func.func @embedding(%ids: tensor<8x1024xi32>, %table: tensor<50257x768xbf16>) {
  %y = llm.embedding %ids, %table : (tensor<8x1024xi32>, tensor<50257x768xbf16>) -> tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @add_positions(
// CHECK: llm.add_positions %arg0, %arg1 : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<8x1024x768xbf16>
func.func @add_positions(%x: tensor<8x1024x768xbf16>, %table: tensor<1024x768xbf16>) {
  %y = llm.add_positions %x, %table : (tensor<8x1024x768xbf16>, tensor<1024x768xbf16>) -> tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK: llm.layer_norm %arg0, %arg1, %arg2 {eps = 1.000000e-05 : f64}
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<768xbf16>, tensor<768xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>)
func.func @layer_norm(%x: tensor<8x1024x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>) {
  %y, %mean, %rstd = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<8x1024x768xbf16>, tensor<768xbf16>,
    tensor<768xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>)
  return
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK: llm.rms_norm %arg0, %arg1 {eps = 1.000000e-05 : f64}
// CHECK-SAME: : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>)
func.func @rms_norm(%x: tensor<1x8192x4096xbf16>, %w: tensor<4096xbf16>) {
  %y, %rstd = llm.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) ->
    (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>)
  return
}

// CHECK-LABEL: func.func @rope(
// CHECK: llm.rope %arg0 {heads = 32 : i64, theta = 5.000000e+05 : f64} : tensor<1x8192x4096xbf16>
func.func @rope(%x: tensor<1x8192x4096xbf16>) {
  %y = llm.rope %x {heads = 32 : i64, theta = 500000.0 : f64} : tensor<1x8192x4096xbf16>
  return
}

// CHECK-LABEL: func.func @attention(
// CHECK: llm.attention %arg0, %arg1, %arg2 {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088387999999999994 : f64}
// CHECK-SAME: : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>)
func.func @attention(%q: tensor<1x8192x4096xbf16>, %k: tensor<1x8192x1024xbf16>, %v: tensor<1x8192x1024xbf16>) {
  %out, %lse = llm.attention %q, %k, %v {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388 : f64} :
    (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>) -> (tensor<1x8192x4096xbf16>,
    tensor<1x32x8192xf32>)
  return
}

// CHECK-LABEL: func.func @attention_scores(
// CHECK: llm.attention_scores %arg0, %arg1 {heads = 12 : i64, kv_heads = 12 : i64, scale = 1.250000e-01 : f64}
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x12x1024x1024xbf16>
func.func @attention_scores(%q: tensor<8x1024x768xbf16>, %k: tensor<8x1024x768xbf16>) {
  %s = llm.attention_scores %q, %k {heads = 12 : i64, kv_heads = 12 : i64, scale = 0.125 : f64} :
    (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x12x1024x1024xbf16>
  return
}

// CHECK-LABEL: func.func @causal_mask(
// CHECK: llm.causal_mask %arg0 {fill = 0xFFF0000000000000 : f64} : tensor<8x12x1024x1024xbf16>
func.func @causal_mask(%s: tensor<8x12x1024x1024xbf16>) {
  %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : tensor<8x12x1024x1024xbf16>
  return
}

// CHECK-LABEL: func.func @softmax(
// CHECK: llm.softmax %arg0 : tensor<8x12x1024x1024xbf16>
func.func @softmax(%m: tensor<8x12x1024x1024xbf16>) {
  %p = llm.softmax %m : tensor<8x12x1024x1024xbf16>
  return
}

// CHECK-LABEL: func.func @attention_values(
// CHECK: llm.attention_values %arg0, %arg1 {heads = 12 : i64, kv_heads = 12 : i64}
// CHECK-SAME: : (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
func.func @attention_values(%p: tensor<8x12x1024x1024xbf16>, %v: tensor<8x1024x768xbf16>) {
  %o = llm.attention_values %p, %v {heads = 12 : i64, kv_heads = 12 : i64, scale = 1.0 : f64} :
    (tensor<8x12x1024x1024xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @gelu(
// CHECK: llm.gelu %arg0 : tensor<8x1024x3072xbf16>
func.func @gelu(%x: tensor<8x1024x3072xbf16>) {
  %y = llm.gelu %x : tensor<8x1024x3072xbf16>
  return
}

// CHECK-LABEL: func.func @gelu_2(
// CHECK: llm.gelu %arg0 {exact} : tensor<8xf32>
func.func @gelu_2(%x: tensor<8xf32>) {
  %y = llm.gelu %x {exact} : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @scale(
// CHECK: llm.scale %arg0 {factor = 4.800000e+01 : f64} : tensor<1x8192x2304xbf16>
func.func @scale(%x: tensor<1x8192x2304xbf16>) {
  %y = llm.scale %x {factor = 48.0 : f64} : tensor<1x8192x2304xbf16>
  return
}

// CHECK-LABEL: func.func @softcap(
// CHECK: llm.softcap %arg0 {cap = 3.000000e+01 : f64} : tensor<1x8192x256000xbf16>
func.func @softcap(%x: tensor<1x8192x256000xbf16>) {
  %y = llm.softcap %x {cap = 30.0 : f64} : tensor<1x8192x256000xbf16>
  return
}

// CHECK-LABEL: func.func @rms_norm_2(
// CHECK: llm.rms_norm %arg0, %arg1 {eps = 1.000000e-05 : f64, offset = 1.000000e+00 : f64}
func.func @rms_norm_2(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  %y, %rstd = llm.rms_norm %x, %w {eps = 1.0e-5 : f64, offset = 1.0 : f64}
    : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func.func @silu(
// CHECK: llm.silu %arg0 : tensor<1x8192x14336xbf16>
func.func @silu(%x: tensor<1x8192x14336xbf16>) {
  %y = llm.silu %x : tensor<1x8192x14336xbf16>
  return
}

// CHECK-LABEL: func.func @add(
// CHECK: llm.add %arg0, %arg1 : tensor<8x1024x768xbf16>
func.func @add(%a: tensor<8x1024x768xbf16>, %b: tensor<8x1024x768xbf16>) {
  %y = llm.add %a, %b : tensor<8x1024x768xbf16>
  return
}

// CHECK-LABEL: func.func @mul(
// CHECK: llm.mul %arg0, %arg1 : tensor<1x8192x14336xbf16>
func.func @mul(%a: tensor<1x8192x14336xbf16>, %b: tensor<1x8192x14336xbf16>) {
  %y = llm.mul %a, %b : tensor<1x8192x14336xbf16>
  return
}

// CHECK-LABEL: func.func @dropout(
// CHECK: llm.dropout %arg0, %arg1 {key = 7 : i64, p = 1.000000e-01 : f64} : tensor<8x1024x768xbf16>, tensor<2xi32>
func.func @dropout(%x: tensor<8x1024x768xbf16>, %seed: tensor<2xi32>) {
  %y = llm.dropout %x, %seed {p = 0.1 : f64, key = 7 : i64} : tensor<8x1024x768xbf16>, tensor<2xi32>
  return
}

// CHECK-LABEL: func.func @stored_dropout(
// CHECK: llm.stored_dropout %arg0, %arg1 {key = 7 : i64, p = 1.000000e-01 : f64}
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<2xi32>) -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>)
func.func @stored_dropout(%x: tensor<8x1024x768xbf16>, %seed: tensor<2xi32>) {
  %y, %mask = llm.stored_dropout %x, %seed {p = 0.1 : f64, key = 7 : i64} : (tensor<8x1024x768xbf16>, tensor<2xi32>)
    -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>)
  return
}

// CHECK-LABEL: func.func @apply_mask(
// CHECK: llm.apply_mask %arg0, %arg1 {p = 1.000000e-01 : f64} : tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>
func.func @apply_mask(%dy: tensor<8x1024x768xbf16>, %mask: tensor<8x1024x768xi8>) {
  %dx = llm.apply_mask %dy, %mask {p = 0.1 : f64} : tensor<8x1024x768xbf16>, tensor<8x1024x768xi8>
  return
}

// CHECK-LABEL: func.func @cast(
// CHECK: llm.cast %arg0 : tensor<8x1024x768xbf16> -> tensor<8x1024x768xf32>
func.func @cast(%x: tensor<8x1024x768xbf16>) {
  %y = llm.cast %x : tensor<8x1024x768xbf16> -> tensor<8x1024x768xf32>
  return
}

// CHECK-LABEL: func.func @fill(
// CHECK: llm.fill {value = 1.000000e+00 : f64} : tensor<f32>
func.func @fill() {
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  return
}

// CHECK-LABEL: func.func @reshape(
// CHECK: llm.reshape %arg0 : tensor<8x1024x768xbf16> -> tensor<8192x768xbf16>
func.func @reshape(%x: tensor<8x1024x768xbf16>) {
  %y = llm.reshape %x : tensor<8x1024x768xbf16> -> tensor<8192x768xbf16>
  return
}

// CHECK-LABEL: func.func @split(
// CHECK: llm.split %arg0
// CHECK-SAME: : (tensor<8x1024x2304xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>)
func.func @split(%qkv: tensor<8x1024x2304xbf16>) {
  %q, %k, %v = llm.split %qkv : (tensor<8x1024x2304xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>,
    tensor<8x1024x768xbf16>)
  return
}

// CHECK-LABEL: func.func @concat(
// CHECK: llm.concat %arg0, %arg1, %arg2
// CHECK-SAME: : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x2304xbf16>
func.func @concat(%dq: tensor<8x1024x768xbf16>, %dk: tensor<8x1024x768xbf16>, %dv: tensor<8x1024x768xbf16>) {
  %dqkv = llm.concat %dq, %dk, %dv : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) ->
    tensor<8x1024x2304xbf16>
  return
}

// CHECK-LABEL: func.func @cross_entropy(
// CHECK: llm.cross_entropy %arg0, %arg1
// CHECK-SAME: : (tensor<8x1024x50257xbf16>, tensor<8x1024xi32>) -> (tensor<f32>, tensor<8x1024xf32>)
func.func @cross_entropy(%logits: tensor<8x1024x50257xbf16>, %targets: tensor<8x1024xi32>) {
  %loss, %lse = llm.cross_entropy %logits, %targets : (tensor<8x1024x50257xbf16>, tensor<8x1024xi32>) -> (tensor<f32>,
    tensor<8x1024xf32>)
  return
}

// CHECK-LABEL: func.func @linear_2(
// CHECK: llm.linear %arg0, %arg1 layout(out_in) : (tensor<8xf64>, tensor<4x8xf64>) -> tensor<4xf64>
func.func @linear_2(%x: tensor<8xf64>, %w: tensor<4x8xf64>) {
  %y = llm.linear %x, %w layout(out_in) : (tensor<8xf64>, tensor<4x8xf64>) -> tensor<4xf64>
  return
}

// CHECK-LABEL: func.func @rope_2(
// CHECK: llm.rope %arg0 {heads = 2 : i64, inverse, rotary = 2 : i64, scaling = #rope_scaling, theta = 1.000000e+04 : f64}
// CHECK-SAME: : tensor<1x4x8xf32>
func.func @rope_2(%x: tensor<1x4x8xf32>) {
  %y = llm.rope %x {heads = 2 : i64, theta = 10000.0 : f64, inverse, rotary = 2 : i64,
    scaling = #llm.rope_scaling<divisors = dense<[8.0]> : tensor<1xf64>, magnitude = 1.5 : f64>} : tensor<1x4x8xf32>
  return
}

// CHECK-LABEL: func.func @attention_2(
// CHECK: llm.attention %arg0, %arg1, %arg2 seed(%arg3) {heads = 2 : i64, key = 4 : i64, kv_heads = 2 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, softcap = 5.000000e+01 : f64, window = 3 : i64}
// CHECK-SAME: : (tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<2xi32>) -> (tensor<1x4x8xf64>, tensor<1x2x4xf64>)
func.func @attention_2(%q: tensor<1x4x8xf64>, %k: tensor<1x4x8xf64>, %v: tensor<1x4x8xf64>, %s: tensor<2xi32>) {
  %out, %lse = llm.attention %q, %k, %v seed(%s) {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64, window = 3 :
    i64, p = 0.1 : f64, key = 4 : i64, softcap = 50.0 : f64} : (tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<2xi32>) ->
    (tensor<1x4x8xf64>, tensor<1x2x4xf64>)
  return
}

// CHECK-LABEL: func.func @causal_mask_2(
// CHECK: llm.causal_mask %arg0 {fill = 0.000000e+00 : f64, window = 3 : i64} : tensor<1x2x4x4xf32>
func.func @causal_mask_2(%s: tensor<1x2x4x4xf32>) {
  %m = llm.causal_mask %s {fill = 0.0 : f64, window = 3 : i64} : tensor<1x2x4x4xf32>
  return
}

// CHECK-LABEL: func.func @cross_entropy_2(
// CHECK: llm.cross_entropy %arg0, %arg1 {ignore_index = -1 : i64}
// CHECK-SAME: : (tensor<4x16xf64>, tensor<4xi32>) -> (tensor<f64>, tensor<4xf64>)
func.func @cross_entropy_2(%logits: tensor<4x16xf64>, %targets: tensor<4xi32>) {
  %loss, %lse = llm.cross_entropy %logits, %targets {ignore_index = -1 : i64} : (tensor<4x16xf64>, tensor<4xi32>) ->
    (tensor<f64>, tensor<4xf64>)
  return
}

// CHECK-LABEL: func.func @attention_3(
// CHECK: llm.attention %arg0, %arg0, %arg0 sinks(%arg1) seed(%arg2) {bidirectional, heads = 2 : i64, kv_heads = 2 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64}
// CHECK-SAME: : (tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<2xf64>, tensor<2xi32>) -> (tensor<1x4x8xf64>, tensor<1x2x4xf64>)
func.func @attention_3(%q: tensor<1x4x8xf64>, %z: tensor<2xf64>, %s: tensor<2xi32>) {
  %out, %lse = llm.attention %q, %q, %q sinks(%z) seed(%s) {bidirectional, heads = 2 : i64, kv_heads = 2 : i64, p = 0.1 : f64, scale = 0.5 : f64}
    : (tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<1x4x8xf64>, tensor<2xf64>, tensor<2xi32>) -> (tensor<1x4x8xf64>, tensor<1x2x4xf64>)
  return
}

// CHECK-LABEL: func.func @silu_2(
// CHECK: llm.silu %arg0 {alpha = 1.702000e+00 : f64} : tensor<4x8xf32>
// CHECK: llm.clamp %{{.*}} {high = 7.000000e+00 : f64, low = -7.000000e+00 : f64} : tensor<4x8xf32>
func.func @silu_2(%x: tensor<4x8xf32>) {
  %y = llm.silu %x {alpha = 1.702 : f64} : tensor<4x8xf32>
  %z = llm.clamp %y {low = -7.0 : f64, high = 7.0 : f64} : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @attention_packed(
// CHECK: llm.attention %arg0, %arg1, %arg1 at(%arg2) {heads = 2 : i64, kv_heads = 1 : i64, scale = 5.000000e-01 : f64}
// CHECK-SAME: : (tensor<1x4x8xbf16>, tensor<1x4x4xbf16>, tensor<1x4x4xbf16>, tensor<1x4xi32>) -> (tensor<1x4x8xbf16>, tensor<1x2x4xf32>)
// CHECK: llm.attention_grad %arg0, %arg1, %arg1, %{{.+}}, %{{.+}}, %arg0 at(%arg2) {heads = 2 : i64
func.func @attention_packed(%q: tensor<1x4x8xbf16>, %k: tensor<1x4x4xbf16>, %t: tensor<1x4xi32>) {
  %out, %lse = llm.attention %q, %k, %k at(%t) {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xbf16>, tensor<1x4x4xbf16>, tensor<1x4x4xbf16>, tensor<1x4xi32>) -> (tensor<1x4x8xbf16>, tensor<1x2x4xf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %k, %k, %out, %lse, %q at(%t) {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xbf16>, tensor<1x4x4xbf16>, tensor<1x4x4xbf16>, tensor<1x4x8xbf16>, tensor<1x2x4xf32>, tensor<1x4x8xbf16>, tensor<1x4xi32>)
    -> (tensor<1x4x8xbf16>, tensor<1x4x4xbf16>, tensor<1x4x4xbf16>)
  return
}
