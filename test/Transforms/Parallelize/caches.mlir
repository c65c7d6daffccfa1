// A step with caches over ranks of tp: caches are split by key/value heads as the products of keys and values are, positions stay whole,
// and logits of a vocabulary that the ranks do not divide are gathered and cut to size, so that every rank returns all of them.
// RUN: llmmem-opt --parallelize=mesh=tp=2 --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @decode
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4x8xf32> {llm.name = "q", llm.role = "param", llm.sharding = #llm.sharding<dimensions = {{\[\["tp"\], \[\]\]}}>, llm.whole = tensor<8x8xf32>}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<2x8xf32>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8x4xf32>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<3x8xf32> {llm.name = "table", {{[^%]*}}llm.whole = tensor<5x8xf32>}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<1x16x2xf32> {llm.donated = 1 : i64, llm.name = "keys", llm.role = "kv_cache", llm.sharding = #llm.sharding<dimensions = {{\[\[\], \[\], \["tp"\]\]}}>, llm.whole = tensor<1x16x4xf32>}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<1x16x2xf32>
// CHECK-SAME: -> (tensor<1x1x5xf32>, tensor<1x16x2xf32>, tensor<1x16x2xf32>)
// CHECK-SAME: llm.mesh = #llm.mesh<tp = 2>
// CHECK: %[[POSITIONS:.*]] = llm.positions %{{.*}} {context = 16 : i64} : (tensor<1xi32>) -> tensor<1x1xi32>
// CHECK-NOT: llm.replica
// CHECK-NOT: llm.part
// CHECK: llm.rope {{.*}} at(%[[POSITIONS]] : tensor<1x1xi32>) {heads = 2 : i64
// CHECK: llm.cached_attention {{.*}} caches(%{{.*}}, %{{.*}}) at(%[[POSITIONS]]) {heads = 2 : i64, kv_heads = 1 : i64
// CHECK-SAME: tensor<1x16x2xf32>, tensor<1x16x2xf32>, tensor<1x1xi32>) -> tensor<1x1x4xf32>
// CHECK: llm.append_cache {{.*}} -> (tensor<1x16x2xf32>, tensor<1x16x2xf32>)
// CHECK: llm.all_reduce {{.*}} over ["tp"] {{.*}} : tensor<1x1x8xf32>
// CHECK: %[[ALL:.*]] = llm.all_gather %{{.*}} over ["tp"] {dimension = 2 : i64, llm.name = "logits.gathered"} : (tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
// CHECK: %[[LOGITS:.*]] = llm.slice %[[ALL]] {begin = 0 : i64, llm.name = "logits.unpadded"} : tensor<1x1x6xf32> -> tensor<1x1x5xf32>
// CHECK: return %[[LOGITS]], %{{.*}}, %{{.*}} : tensor<1x1x5xf32>, tensor<1x16x2xf32>, tensor<1x16x2xf32>
func.func @decode(%x: tensor<1x1x8xf32> {llm.role = "input"}, %lengths: tensor<1xi32> {llm.role = "input"},
    %q: tensor<8x8xf32> {llm.name = "q", llm.role = "param"}, %k: tensor<4x8xf32> {llm.name = "k", llm.role = "param"},
    %v: tensor<4x8xf32> {llm.name = "v", llm.role = "param"}, %o: tensor<8x8xf32> {llm.name = "o", llm.role = "param"},
    %table: tensor<5x8xf32> {llm.name = "table", llm.role = "param"},
    %keys: tensor<1x16x4xf32> {llm.name = "keys", llm.role = "kv_cache", llm.donated = 1 : i64},
    %values: tensor<1x16x4xf32> {llm.name = "values", llm.role = "kv_cache", llm.donated = 2 : i64})
    -> (tensor<1x1x5xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>) attributes {llm.context = 16 : i64} {
  %at = llm.positions %lengths {context = 16 : i64} : (tensor<1xi32>) -> tensor<1x1xi32>
  %qx = llm.linear %x, %q layout(out_in) : (tensor<1x1x8xf32>, tensor<8x8xf32>) -> tensor<1x1x8xf32>
  %kx = llm.linear %x, %k layout(out_in) : (tensor<1x1x8xf32>, tensor<4x8xf32>) -> tensor<1x1x4xf32>
  %vx = llm.linear %x, %v layout(out_in) : (tensor<1x1x8xf32>, tensor<4x8xf32>) -> tensor<1x1x4xf32>
  %qr = llm.rope %qx at(%at : tensor<1x1xi32>) {heads = 4 : i64, theta = 10000.0 : f64} : tensor<1x1x8xf32>
  %out = llm.cached_attention %qr, %kx, %vx caches(%keys, %values) at(%at) {heads = 4 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>, tensor<1x1xi32>) -> tensor<1x1x8xf32>
  %keys1, %values1 = llm.append_cache %keys, %values, %kx, %vx at(%at)
    : (tensor<1x16x4xf32>, tensor<1x16x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1xi32>) -> (tensor<1x16x4xf32>, tensor<1x16x4xf32>)
  %y = llm.linear %out, %o layout(out_in) : (tensor<1x1x8xf32>, tensor<8x8xf32>) -> tensor<1x1x8xf32>
  %logits = llm.linear %y, %table layout(out_in) {llm.name = "logits"} : (tensor<1x1x8xf32>, tensor<5x8xf32>) -> tensor<1x1x5xf32>
  return %logits, %keys1, %values1 : tensor<1x1x5xf32>, tensor<1x16x4xf32>, tensor<1x16x4xf32>
}

// -----

// Pages that all sequences share and caches in fewer bits, with a scale for each head, are split by heads alone.
// CHECK-LABEL: func.func @prefill
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x4x2xi8>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x4x2xi8>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x4x1xf32>
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x4x1xf32>
// CHECK: llm.pack {{.*}} : tensor<1x3x2xf32> -> tensor<1x3x2xi8>, tensor<1x3x1xf32>
// CHECK: llm.cached_attention {{.*}} pages(%{{.*}}) scales({{.*}}) {heads = 1 : i64, kv_heads = 1 : i64
// CHECK: llm.append_cache {{.*}} -> (tensor<6x4x2xi8>, tensor<6x4x2xi8>)
// CHECK: llm.append_cache {{.*}} -> (tensor<6x4x1xf32>, tensor<6x4x1xf32>)
// CHECK: llm.last_rows {{.*}} : (tensor<1x3x2xf32>, tensor<1xi32>) -> tensor<1x1x2xf32>
// CHECK: llm.all_gather {{.*}} : (tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
func.func @prefill(%x: tensor<1x3x4xf32> {llm.role = "input"}, %lengths: tensor<1xi32> {llm.role = "input"},
    %counts: tensor<1xi32> {llm.role = "input"}, %table: tensor<1x4xi32> {llm.role = "input"},
    %q: tensor<4x4xf32> {llm.name = "q", llm.role = "param"}, %k: tensor<4x4xf32> {llm.name = "k", llm.role = "param"},
    %v: tensor<4x4xf32> {llm.name = "v", llm.role = "param"},
    %keys: tensor<6x4x4xi8> {llm.name = "keys", llm.role = "kv_cache", llm.donated = 1 : i64},
    %values: tensor<6x4x4xi8> {llm.name = "values", llm.role = "kv_cache", llm.donated = 2 : i64},
    %key_scales: tensor<6x4x2xf32> {llm.name = "key_scales", llm.role = "kv_cache", llm.donated = 3 : i64},
    %value_scales: tensor<6x4x2xf32> {llm.name = "value_scales", llm.role = "kv_cache", llm.donated = 4 : i64})
    -> (tensor<1x1x4xf32>, tensor<6x4x4xi8>, tensor<6x4x4xi8>, tensor<6x4x2xf32>, tensor<6x4x2xf32>) attributes {llm.context = 16 : i64} {
  %at = llm.positions %lengths counts(%counts) {context = 16 : i64} : (tensor<1xi32>, tensor<1xi32>) -> tensor<1x3xi32>
  %qx = llm.linear %x, %q layout(out_in) : (tensor<1x3x4xf32>, tensor<4x4xf32>) -> tensor<1x3x4xf32>
  %kx = llm.linear %x, %k layout(out_in) : (tensor<1x3x4xf32>, tensor<4x4xf32>) -> tensor<1x3x4xf32>
  %vx = llm.linear %x, %v layout(out_in) : (tensor<1x3x4xf32>, tensor<4x4xf32>) -> tensor<1x3x4xf32>
  %kp, %ks = llm.pack %kx : tensor<1x3x4xf32> -> tensor<1x3x4xi8>, tensor<1x3x2xf32>
  %vp, %vs = llm.pack %vx : tensor<1x3x4xf32> -> tensor<1x3x4xi8>, tensor<1x3x2xf32>
  %out = llm.cached_attention %qx, %kp, %vp caches(%keys, %values) at(%at) pages(%table) scales(%ks, %vs, %key_scales, %value_scales)
    {heads = 2 : i64, kv_heads = 2 : i64, scale = 1.0 : f64}
    : (tensor<1x3x4xf32>, tensor<1x3x4xi8>, tensor<1x3x4xi8>, tensor<6x4x4xi8>, tensor<6x4x4xi8>, tensor<1x3xi32>, tensor<1x4xi32>,
       tensor<1x3x2xf32>, tensor<1x3x2xf32>, tensor<6x4x2xf32>, tensor<6x4x2xf32>) -> tensor<1x3x4xf32>
  %keys1, %values1 = llm.append_cache %keys, %values, %kp, %vp at(%at) pages(%table)
    : (tensor<6x4x4xi8>, tensor<6x4x4xi8>, tensor<1x3x4xi8>, tensor<1x3x4xi8>, tensor<1x3xi32>, tensor<1x4xi32>) -> (tensor<6x4x4xi8>, tensor<6x4x4xi8>)
  %ks1, %vs1 = llm.append_cache %key_scales, %value_scales, %ks, %vs at(%at) pages(%table)
    : (tensor<6x4x2xf32>, tensor<6x4x2xf32>, tensor<1x3x2xf32>, tensor<1x3x2xf32>, tensor<1x3xi32>, tensor<1x4xi32>) -> (tensor<6x4x2xf32>, tensor<6x4x2xf32>)
  %last = llm.last_rows %out, %counts : (tensor<1x3x4xf32>, tensor<1xi32>) -> tensor<1x1x4xf32>
  return %last, %keys1, %values1, %ks1, %vs1 : tensor<1x1x4xf32>, tensor<6x4x4xi8>, tensor<6x4x4xi8>, tensor<6x4x2xf32>, tensor<6x4x2xf32>
}
