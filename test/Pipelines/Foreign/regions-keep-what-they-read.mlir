// What a region reads from around it is there after the op, so nothing in the region takes its bytes.
// RUN: llmmem-opt --allow-unregistered-dialect --entry=main --checkpoint-policy=none %s 2> /dev/null | FileCheck %s

// Each region computes tanh of %b, of 4,096 bytes, for which it needs scratch bytes: a later round, or an op after the region, reads %b again. What a
// loop carries is overwritten. The other two hold a second value, of which their result is a copy.
// CHECK: "stablehlo.while"(%{{.*}}, %arg1, %arg2)
// CHECK: workspace = 4096
// CHECK: "stablehlo.case"(%arg0, %arg2)
// CHECK: workspace = 8192
// CHECK: "sdy.manual_computation"(%arg2)
// CHECK: workspace = 8192
func.func @main(%i: tensor<i32>, %x: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%n: tensor<i32>, %v: tensor<1024xf32>):
    %end = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %less = "stablehlo.compare"(%n, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%n: tensor<i32>, %v: tensor<1024xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%n, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %w = "stablehlo.tanh"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
    %s = "stablehlo.add"(%v, %w) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%next, %s) : (tensor<i32>, tensor<1024xf32>) -> ()
  }) : (tensor<i32>, tensor<1024xf32>) -> (tensor<i32>, tensor<1024xf32>)
  %c = "stablehlo.case"(%i) ({
    %p = "stablehlo.tanh"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
    %q = "stablehlo.concatenate"(%p) <{dimension = 0 : i64}> : (tensor<1024xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%q) : (tensor<1024xf32>) -> ()
  }) : (tensor<i32>) -> tensor<1024xf32>
  %m = "sdy.manual_computation"(%b) ({
  ^bb0(%a: tensor<1024xf32>):
    %p = "stablehlo.tanh"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
    %q = "stablehlo.concatenate"(%p) <{dimension = 0 : i64}> : (tensor<1024xf32>) -> tensor<1024xf32>
    "sdy.return"(%q) : (tensor<1024xf32>) -> ()
  }) : (tensor<1024xf32>) -> tensor<1024xf32>
  %rc = "stablehlo.add"(%r#1, %c) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %rcm = "stablehlo.add"(%rc, %m) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %y = "stablehlo.add"(%rcm, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}
