// An argument that is given away and read after its result is written is held together with the result.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step %s 2>/dev/null | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32})
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: llm.in_argument
  %new = "stablehlo.negate"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %late = "stablehlo.add"(%w, %new) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %new, %late : tensor<4xf32>, tensor<4xf32>
}
