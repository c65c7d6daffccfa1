// `jax.buffer_donor` and `bufferization.writable` name no result: the first of equal type is taken.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step %s 2>/dev/null | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4xf32> {jax.buffer_donor = true, llm.donated = 0 : i64}, %arg1: tensor<4xf32> {bufferization.writable = true, llm.donated = 1 : i64}, %arg2: tensor<4xf32> {bufferization.writable = false})
func.func @main(%a: tensor<4xf32> {jax.buffer_donor = true}, %b: tensor<4xf32> {bufferization.writable = true},
                %c: tensor<4xf32> {bufferization.writable = false}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.negate"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.negate"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
