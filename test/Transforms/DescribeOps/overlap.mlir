// Nothing is overwritten that is read otherwise at the same time: a broadcast that transposes is no view, and whole operands
// that are read twice are not taken over.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops %s | FileCheck %s

func.func @main(%x: tensor<4x4xf32>, %at: tensor<i32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: "stablehlo.broadcast_in_dim"
  // CHECK-NOT: llm.views
  // CHECK: "stablehlo.add"
  %turned = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = "stablehlo.add"(%turned, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: "stablehlo.reshape"
  // CHECK: "stablehlo.dynamic_update_slice"
  // CHECK-NOT: llm.in_place
  // CHECK: "stablehlo.dynamic_update_slice"{{.*}}llm.in_place = [array<i64: 0>]
  %flat = "stablehlo.reshape"(%sum) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %same = "stablehlo.dynamic_update_slice"(%sum, %flat, %at, %at) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  %other = "stablehlo.dynamic_update_slice"(%sum, %x, %at, %at) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  return %same, %other, %turned : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
