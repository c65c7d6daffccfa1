// Where nothing is donated, types tell: a result that has an argument's type and stands where that does takes its place.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step %s | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4xbf16> {llm.role = "param"}, %arg1: tensor<4xf32> {llm.role = "optimizer_state"},
// CHECK-SAME: %arg2: tensor<8xbf16> {llm.role = "input"})
// CHECK-SAME: llm.loss = 2
func.func @main(%w: tensor<4xbf16>, %m: tensor<4xf32>, %x: tensor<8xbf16>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<f32>) {
  %half = "stablehlo.slice"(%x) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<8xbf16>) -> tensor<4xbf16>
  %y = "stablehlo.multiply"(%w, %half) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %wide = "stablehlo.convert"(%y) : (tensor<4xbf16>) -> tensor<4xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %loss = "stablehlo.reduce"(%wide, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %dw = "stablehlo.convert"(%half) : (tensor<4xbf16>) -> tensor<4xf32>
  %new_m = "stablehlo.add"(%m, %dw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %new_w = "stablehlo.convert"(%new_m) : (tensor<4xf32>) -> tensor<4xbf16>
  return %new_w, %new_m, %loss : tensor<4xbf16>, tensor<4xf32>, tensor<f32>
}
