// The printed form of the ops of LlmCacheOps.td with each optional part parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: llm.context = 12 : i64
// CHECK: llm.positions %arg0 counts(%arg1) {context = 12 : i64} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xi32>
// CHECK: llm.rope %{{.*}} at(%{{.*}} : tensor<2x3xi32>) {heads = 2 : i64, theta = 1.000000e+01 : f64} : tensor<2x3x8xf32>
// CHECK: llm.cached_attention %{{.*}}, %{{.*}}, %{{.*}} caches(%{{.*}}, %{{.*}}) at(%{{.*}}) pages(%{{.*}}) sinks(%{{.*}}) {heads = 2 : i64
// CHECK: llm.append_cache %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} at(%{{.*}}) pages(%{{.*}}) {ring}
// CHECK: llm.last_rows %{{.*}}, %arg1 : (tensor<2x3x8xf32>, tensor<2xi32>) -> tensor<2x1x8xf32>
func.func @decode(%l: tensor<2xi32>, %n: tensor<2xi32>, %q: tensor<2x3x8xf32>, %k: tensor<2x3x4xf32>,
                  %c: tensor<5x6x4xf32> {llm.role = "kv_cache"}, %t: tensor<2x2xi32>,
                  %z: tensor<2xf32>) attributes {llm.context = 12 : i64} {
  %p = llm.positions %l counts(%n) {context = 12 : i64} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  %r = llm.rope %q at(%p : tensor<2x3xi32>) {heads = 2 : i64, theta = 10.0 : f64} : tensor<2x3x8xf32>
  %o = llm.cached_attention %r, %k, %k caches(%c, %c) at(%p) pages(%t) sinks(%z)
      {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64, window = 6 : i64, softcap = 3.0 : f64}
    : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<2x3xi32>,
       tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x3x8xf32>
  %a, %b = llm.append_cache %c, %c, %k, %k at(%p) pages(%t) {ring}
    : (tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x2xi32>)
   -> (tensor<5x6x4xf32>, tensor<5x6x4xf32>)
  %y = llm.last_rows %o, %n : (tensor<2x3x8xf32>, tensor<2xi32>) -> tensor<2x1x8xf32>
  return
}
