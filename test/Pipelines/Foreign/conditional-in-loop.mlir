// A loop reads from outside what a conditional in its body reads: its rounds are counted, and the text comes back as it was.
// RUN: llmmem-opt --allow-unregistered-dialect --entry=main --checkpoint-policy=none %s -o %t.mlir 2> /dev/null
// RUN: FileCheck %s --check-prefix=PLANNED < %t.mlir
// RUN: llmmem-opt --allow-unregistered-dialect --export-graph %t.mlir | FileCheck %s

// Four rounds of the larger branch: 4 * (1024 + 1) FLOPs, of which one is of the counter.
// PLANNED: "stablehlo.while"(%{{.*}}, %arg1, %arg0, %arg2)
// PLANNED: flops = 4100
// PLANNED-SAME: llmmem.captures = 2 : i64
// CHECK: "stablehlo.while"(%{{[^,]*}}, %arg1) ({
// CHECK: "stablehlo.case"(%arg0) ({
// CHECK-NEXT: "stablehlo.add"(%{{.*}}, %arg2)
// CHECK-NOT: llmmem
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
    %w = "stablehlo.case"(%i) ({
      %s = "stablehlo.add"(%v, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
      "stablehlo.return"(%s) : (tensor<1024xf32>) -> ()
    }, {
      "stablehlo.return"(%v) : (tensor<1024xf32>) -> ()
    }) : (tensor<i32>) -> tensor<1024xf32>
    "stablehlo.return"(%next, %w) : (tensor<i32>, tensor<1024xf32>) -> ()
  }) : (tensor<i32>, tensor<1024xf32>) -> (tensor<i32>, tensor<1024xf32>)
  return %r#1 : tensor<1024xf32>
}
