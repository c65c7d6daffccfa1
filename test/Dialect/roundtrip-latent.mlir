// The printed form of the ops of LlmLatentOps.td with each optional part parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @decode(
// CHECK: llm.head_linear %{{.*}}, %{{.*}} layout(in_out) {first = 0 : i64, heads = 2 : i64} : (tensor<2x3x6xf32>, tensor<14x4xf32>) -> tensor<2x3x8xf32>
// CHECK: llm.latent_attention %{{.*}}, %{{.*}} cache(%{{.*}}) at(%{{.*}}) pages(%{{.*}}) {heads = 2 : i64, rank = 4 : i64, scale = 5.000000e-01 : f64}
// CHECK: llm.latent_attention %{{.*}}, %{{.*}} cache(%{{.*}}) at(%{{.*}}) scales(%{{.*}}, %{{.*}}) {heads = 2 : i64
// CHECK: llm.append_rows %{{.*}}, %{{.*}} at(%{{.*}}) pages(%{{.*}}) : (tensor<5x6x6xf32>, tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<5x6x6xf32>
// CHECK: llm.append_rows %{{.*}}, %{{.*}} at(%{{.*}}) : (tensor<2x9x6xi8>, tensor<2x3x6xi8>, tensor<2x3xi32>) -> tensor<2x9x6xi8>
func.func @decode(%x: tensor<2x3x6xf32>, %w: tensor<14x4xf32>, %q: tensor<2x3x12xf32>, %r: tensor<2x3x6xf32>, %p: tensor<2x3xi32>,
                  %c: tensor<5x6x6xf32> {llm.role = "kv_cache"}, %t: tensor<2x2xi32>, %h: tensor<2x3x6xi8>, %hs: tensor<2x3x1xf32>,
                  %d: tensor<2x9x6xi8>, %ds: tensor<2x9x1xf32>) {
  %y = llm.head_linear %x, %w layout(in_out) {heads = 2 : i64, first = 0 : i64} : (tensor<2x3x6xf32>, tensor<14x4xf32>) -> tensor<2x3x8xf32>
  %o = llm.latent_attention %q, %r cache(%c) at(%p) pages(%t) {heads = 2 : i64, rank = 4 : i64, scale = 0.5 : f64}
    : (tensor<2x3x12xf32>, tensor<2x3x6xf32>, tensor<5x6x6xf32>, tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x3x8xf32>
  %z = llm.latent_attention %q, %h cache(%d) at(%p) scales(%hs, %ds) {heads = 2 : i64, rank = 4 : i64, scale = 0.5 : f64}
    : (tensor<2x3x12xf32>, tensor<2x3x6xi8>, tensor<2x9x6xi8>, tensor<2x3xi32>, tensor<2x3x1xf32>, tensor<2x9x1xf32>) -> tensor<2x3x8xf32>
  %a = llm.append_rows %c, %r at(%p) pages(%t)
    : (tensor<5x6x6xf32>, tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<5x6x6xf32>
  %b = llm.append_rows %d, %h at(%p) : (tensor<2x9x6xi8>, tensor<2x3x6xi8>, tensor<2x3xi32>) -> tensor<2x9x6xi8>
  return
}

// CHECK-LABEL: func.func @held(
// CHECK: llm.head_linear %arg0, %arg1 scales(%arg2) layout(out_in) {first = 0 : i64, heads = 2 : i64} : (tensor<2x3x64xf32>, tensor<14x32xi8>, tensor<14x1xf32>) -> tensor<2x3x8xf32>
func.func @held(%x: tensor<2x3x64xf32>, %w: tensor<14x32xi8>, %s: tensor<14x1xf32>) {
  %y = llm.head_linear %x, %w scales(%s) layout(out_in) {heads = 2 : i64, first = 0 : i64}
    : (tensor<2x3x64xf32>, tensor<14x32xi8>, tensor<14x1xf32>) -> tensor<2x3x8xf32>
  return
}
