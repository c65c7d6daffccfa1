// Attention is split by heads, fused and written out, with grouped heads; attributes count those of a rank. Of a weight for
// queries, keys and values a rank has its heads of each: the weight is split in pieces.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s

!x = tensor<1x4x16xf32>
!kv = tensor<1x4x8xf32>
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<16x16xf32> {{{.*}}llm.sharding = #llm.sharding<dimensions = {{\[\[\], \["tp"\]\]}}, pieces = [array<i64>, array<i64: 16, 8, 8>]>, llm.whole = tensor<16x32xf32>}
func.func @loss(%in: !x {llm.role = "input"}, %g: tensor<16xf32> {llm.role = "param"}, %qkv: tensor<16x32xf32> {llm.role = "param"},
                %proj: tensor<16x16xf32> {llm.role = "param"}, %proj2: tensor<16x16xf32> {llm.role = "param"}) -> !x {
  // CHECK: llm.linear {{.*}} -> tensor<1x4x16xf32>
  // CHECK: llm.split {{.*}} -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  %y = llm.linear %in, %qkv layout(in_out) : (!x, tensor<16x32xf32>) -> tensor<1x4x32xf32>
  %q, %k, %v = llm.split %y : (tensor<1x4x32xf32>) -> (!x, !kv, !kv)
  // CHECK: llm.rope {{.*}}heads = 2 : i64{{.*}} : tensor<1x4x8xf32>
  %r = llm.rope %q {heads = 4 : i64, theta = 10000.0 : f64} : !x
  // CHECK: llm.attention {{.*}}heads = 2 : i64, kv_heads = 1 : i64{{.*}} -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  %a, %lse = llm.attention %r, %k, %v {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (!x, !kv, !kv) -> (!x, tensor<1x4x4xf32>)
  // CHECK: %[[PART:.*]] = llm.linear {{.*}} (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  // CHECK: llm.all_reduce %[[PART]] over ["tp"]
  %o = llm.linear %a, %proj layout(in_out) : (!x, tensor<16x16xf32>) -> !x
  // CHECK: llm.attention_scores {{.*}}heads = 2 : i64, kv_heads = 1 : i64{{.*}} -> tensor<1x2x4x4xf32>
  %s = llm.attention_scores %r, %k {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (!x, !kv) -> tensor<1x4x4x4xf32>
  %m = llm.causal_mask %s {fill = 0xFFF0000000000000 : f64} : tensor<1x4x4x4xf32>
  %p = llm.softmax %m : tensor<1x4x4x4xf32>
  // CHECK: llm.attention_values {{.*}}heads = 2 : i64, kv_heads = 1 : i64{{.*}} -> tensor<1x4x8xf32>
  %w = llm.attention_values %p, %v {heads = 4 : i64, kv_heads = 2 : i64} : (tensor<1x4x4x4xf32>, !kv) -> !x
  %o2 = llm.linear %w, %proj2 layout(in_out) : (!x, tensor<16x16xf32>) -> !x
  %z = llm.add %o, %o2 : !x
  return %z : !x
}
