// A barrier that a person wrote stays one, around all of its values: tanh runs after exponential though it reads nothing of it, in
// what is planned and in what is exported. A value that nobody reads after the barrier is held until then.
// RUN: llmmem-opt --allow-unregistered-dialect --checkpoint-budget=1GB %s -o %t.planned.mlir 2> %t.log
// RUN: llmmem-opt --allow-unregistered-dialect --export-graph --mlir-print-op-generic %t.planned.mlir | FileCheck %s
// RUN: llmmem-opt --allow-unregistered-dialect --checkpoint-budget=min %s -o %t.least.mlir 2> %t.log
// RUN: llmmem-opt --allow-unregistered-dialect --export-graph --mlir-print-op-generic %t.least.mlir | FileCheck %s

// CHECK: %[[E:.*]] = "stablehlo.exponential"(%arg0)
// CHECK: %[[L:.*]] = "stablehlo.log"(%[[E]])
// CHECK: %[[B:.*]]:3 = "stablehlo.optimization_barrier"(%arg0, %[[E]], %[[L]])
// CHECK: %[[T:.*]] = "stablehlo.tanh"(%[[B]]#0)
// CHECK: "stablehlo.multiply"(%[[T]], %[[B]]#1)
// CHECK-NOT: "stablehlo.optimization_barrier"
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "stablehlo.exponential"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "stablehlo.log"(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b:3 = "stablehlo.optimization_barrier"(%x, %0, %1) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
  %2 = "stablehlo.tanh"(%b#0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "stablehlo.multiply"(%2, %b#1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
