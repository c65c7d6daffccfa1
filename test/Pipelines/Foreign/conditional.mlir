// The branches of a conditional read from outside, as JAX writes them: the plan knows what they read, and the text comes back as it was.
// RUN: llmmem-opt --allow-unregistered-dialect --entry=main --checkpoint-budget=min %s -o %t.mlir 2> %t.report
// RUN: FileCheck %s --check-prefix=PLANNED < %t.mlir
// RUN: FileCheck %s --check-prefix=REPORT < %t.report
// RUN: llmmem-opt --allow-unregistered-dialect --export-graph %t.mlir | FileCheck %s

// While the conditional runs, %i, %x, %a, its result and the sum of a branch are held; %a is read in that branch alone.
// REPORT: peak {{.*}}(16388 bytes) at op 1, stablehlo.case
// PLANNED: "stablehlo.case"(%arg0, %[[A:.*]], %arg1) ({
// PLANNED-NEXT: ^bb0(%[[IN_A:.*]]: tensor<1024xf32>, %[[IN_X:.*]]: tensor<1024xf32>):
// PLANNED-NEXT: "stablehlo.add"(%[[IN_A]], %[[IN_X]])
// PLANNED: llmmem.captures = 2 : i64
// CHECK: %[[A:.*]] = "stablehlo.tanh"(%arg1)
// CHECK: "stablehlo.case"(%arg0) ({
// CHECK-NEXT: %[[SUM:.*]] = "stablehlo.add"(%[[A]], %arg1)
// CHECK-NEXT: "stablehlo.return"(%[[SUM]])
// CHECK: "stablehlo.return"(%arg1)
// CHECK-NEXT: }) : (tensor<i32>) -> tensor<1024xf32>
func.func @main(%i: tensor<i32>, %x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %r = "stablehlo.case"(%i) ({
    %s = "stablehlo.add"(%a, %x) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%s) : (tensor<1024xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<1024xf32>) -> ()
  }) : (tensor<i32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
