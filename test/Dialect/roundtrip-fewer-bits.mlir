// Ops on what is held in fewer bits print what they parse.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x64xbf16>, %w: tensor<8x64xi4>, %b: tensor<8xbf16>, %s: tensor<8x2xbf16>, %z: tensor<8x2xi4>,
                    %e: tensor<64x8xf8E5M2>, %i: tensor<2x3xi32>) -> (tensor<2x8xbf16>, tensor<2x3x64xbf16>) {
  // CHECK: llm.linear %{{.*}}, %{{.*}} bias(%{{.*}}) scales(%{{.*}}) zeros(%{{.*}}) layout(out_in) : (tensor<2x64xbf16>, tensor<8x64xi4>, tensor<8xbf16>, tensor<8x2xbf16>, tensor<8x2xi4>) -> tensor<2x8xbf16>
  %0 = llm.linear %x, %w bias(%b) scales(%s) zeros(%z) layout(out_in)
    : (tensor<2x64xbf16>, tensor<8x64xi4>, tensor<8xbf16>, tensor<8x2xbf16>, tensor<8x2xi4>) -> tensor<2x8xbf16>
  // CHECK: llm.embedding %{{.*}}, %{{.*}} scales(%{{.*}}) zeros(%{{.*}}) : (tensor<2x3xi32>, tensor<8x64xi4>, tensor<8x2xbf16>, tensor<8x2xi4>) -> tensor<2x3x64xbf16>
  %1 = llm.embedding %i, %w scales(%s) zeros(%z)
    : (tensor<2x3xi32>, tensor<8x64xi4>, tensor<8x2xbf16>, tensor<8x2xi4>) -> tensor<2x3x64xbf16>
  return %0, %1 : tensor<2x8xbf16>, tensor<2x3x64xbf16>
}

// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: tensor<2x64xf32>, %w: tensor<64x32xi8>, %s: tensor<64x1xf32>) -> tensor<2x32xf32> {
  // CHECK: llm.linear %{{.*}}, %{{.*}} scales(%{{.*}}) layout(in_out) {activation_group = 64 : i64} : (tensor<2x64xf32>, tensor<64x32xi8>, tensor<64x1xf32>) -> tensor<2x32xf32>
  %0 = llm.linear %x, %w scales(%s) layout(in_out) {activation_group = 64 : i64}
    : (tensor<2x64xf32>, tensor<64x32xi8>, tensor<64x1xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// CHECK-LABEL: func.func @caches
func.func @caches(%q: tensor<2x1x8xf32>, %x: tensor<2x1x8xf32>, %c: tensor<2x6x8xf8E4M3FN>, %t: tensor<2x6x2xf32>,
                  %p: tensor<2x1xi32>) -> (tensor<2x1x8xf32>, tensor<2x6x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>) {
  // CHECK: %[[ROWS:.*]], %[[SCALES:.*]] = llm.pack %{{.*}} : tensor<2x1x8xf32> -> tensor<2x1x8xf8E4M3FN>, tensor<2x1x2xf32>
  %k, %s = llm.pack %x : tensor<2x1x8xf32> -> tensor<2x1x8xf8E4M3FN>, tensor<2x1x2xf32>
  // CHECK: llm.cached_attention %{{.*}}, %[[ROWS]], %[[ROWS]] caches(%{{.*}}, %{{.*}}) at(%{{.*}}) scales(%[[SCALES]], %[[SCALES]], %{{.*}}, %{{.*}}) {
  %0 = llm.cached_attention %q, %k, %k caches(%c, %c) at(%p) scales(%s, %s, %t, %t) {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<2x1x8xf32>, tensor<2x1x8xf8E4M3FN>, tensor<2x1x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>, tensor<2x1xi32>,
       tensor<2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x6x2xf32>, tensor<2x6x2xf32>) -> tensor<2x1x8xf32>
  // CHECK: llm.append_cache %{{.*}}, %{{.*}}, %[[ROWS]], %[[ROWS]] at(%{{.*}})
  %1, %2 = llm.append_cache %c, %c, %k, %k at(%p)
    : (tensor<2x6x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>, tensor<2x1x8xf8E4M3FN>, tensor<2x1x8xf8E4M3FN>, tensor<2x1xi32>)
      -> (tensor<2x6x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>)
  return %0, %1, %2 : tensor<2x1x8xf32>, tensor<2x6x8xf8E4M3FN>, tensor<2x6x8xf8E4M3FN>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%p: tensor<2x8xi8>, %s: tensor<2x2xbf16>) -> tensor<2x8xbf16> {
  // CHECK: llm.unpack %{{.*}}, %{{.*}} : tensor<2x8xi8>, tensor<2x2xbf16> -> tensor<2x8xbf16>
  %x = llm.unpack %p, %s : tensor<2x8xi8>, tensor<2x2xbf16> -> tensor<2x8xbf16>
  return %x : tensor<2x8xbf16>
}
