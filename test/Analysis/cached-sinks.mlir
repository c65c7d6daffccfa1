// Sinks count among the bytes of attention over caches. The peak is 364: q 64, k 32, a cache of 6 rows 192, a position 4, two sinks 8 and out 64;
// moved are q and out 128, k and v 64, position and sinks 12, and as many rows of keys and of values 384.
// RUN: llmmem-opt --checkpoint-policy=none %s 2>/dev/null | FileCheck %s
// CHECK: llm.peak = 364 : i64
// CHECK: llm.cached_attention {{.*}} sinks({{.*}} #llm.cost<flops = 384, bytes = 588,
func.func @step(%q: tensor<1x1x16xf32>, %k: tensor<1x1x8xf32>, %keys: tensor<1x6x8xf32>, %p: tensor<1x1xi32>, %z: tensor<2xf32>) -> tensor<1x1x16xf32> {
  %o = llm.cached_attention %q, %k, %k caches(%keys, %keys) at(%p) sinks(%z) {heads = 2 : i64, kv_heads = 1 : i64, scale = 1.0 : f64}
    : (tensor<1x1x16xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x1xi32>, tensor<2xf32>) -> tensor<1x1x16xf32>
  return %o : tensor<1x1x16xf32>
}
