// What one device runs of a shard_map calls functions and meets the other devices; both have their price, and shardings are views.
// RUN: llmmem-opt --allow-unregistered-dialect --entry=main --checkpoint-policy=none %s -o %t.mlir 2> /dev/null
// RUN: FileCheck %s < %t.mlir

// tanh has 4 FLOPs and the sum one for each of 1024 elements. Over 4 devices it is 6 messages and 3/2 of 4,096 bytes, which
// is added to the time of 5120 FLOPs.
// CHECK: "sdy.manual_computation"(%arg0) ({
// CHECK-NOT: call
// CHECK: flops = 5120
// CHECK-SAME: llmmem.transfer = array<i64: 6, 6144>
// CHECK: "sdy.sharding_constraint"{{.*}}llm.views = array<i64: 0>
func.func @main(%x: tensor<4096xf32>) -> tensor<1024xf32> {
  %r = "sdy.manual_computation"(%x) ({
  ^bb0(%a: tensor<1024xf32>):
    %b = func.call @f(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
    %c = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<1024xf32>) -> tensor<1024xf32>
    "sdy.return"(%c) : (tensor<1024xf32>) -> ()
  }) : (tensor<4096xf32>) -> tensor<1024xf32>
  %v = "sdy.sharding_constraint"(%r) : (tensor<1024xf32>) -> tensor<1024xf32>
  %y = "stablehlo.negate"(%v) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}
func.func private @f(%a: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = "stablehlo.tanh"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
