// A loop that counts to a constant is one op: 5 rounds of the body, and the most that one round holds.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops %s | FileCheck %s

func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // An iteration: tanh (4 FLOPs an element) in addition to what is carried, an addition, the counter.
  // 5 * (4096 + 1024 + 1) FLOPs, 5 * (8192 + 12288 + 12) bytes; of its values only that of tanh is not carried.
  // CHECK: "stablehlo.while"
  // CHECK: llm.cost = #llm.cost<flops = 25605, bytes = 102460, ns = 0, workspace = 4096>
  // CHECK-SAME: llm.in_place = [array<i64: 0>, array<i64: 1>], llm.pure
  %0:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<1024xf32>):
    %end = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    %less = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<1024xf32>):
    %two = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %t = "stablehlo.tanh"(%v) : (tensor<1024xf32>) -> tensor<1024xf32>
    %w = "stablehlo.add"(%v, %t) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    %next = "stablehlo.add"(%i, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%next, %w) : (tensor<i32>, tensor<1024xf32>) -> ()
  }) : (tensor<i32>, tensor<1024xf32>) -> (tensor<i32>, tensor<1024xf32>)
  return %0#1 : tensor<1024xf32>
}
