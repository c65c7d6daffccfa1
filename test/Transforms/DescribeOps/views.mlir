// Broadcasts and reshapes are views, but for what the caller gets; each result of a barrier is one of an operand.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops %s | FileCheck %s

func.func @main(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>) {
  // CHECK: "stablehlo.constant"{{.*}}{llm.resident}
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: "stablehlo.broadcast_in_dim"(%arg0){{.*}}llm.views = array<i64: 0>
  %rows = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[A:.*]]:2 = "stablehlo.optimization_barrier"(%arg1, %{{.*}}) {llm.pure, llm.views = array<i64: 0, 1>}
  %behind:2 = "stablehlo.optimization_barrier"(%y, %one) : (tensor<4x4xf32>, tensor<f32>) -> (tensor<4x4xf32>, tensor<f32>)
  // CHECK: "stablehlo.add"(%[[A]]#0, %{{.*}}llm.in_place = [array<i64: 0, 1>], llm.pure
  %sum = "stablehlo.add"(%behind#0, %rows) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: "stablehlo.broadcast_in_dim"(%[[A]]#1){{.*}}llm.cost = #llm.cost<flops = 0, bytes = 68,
  %all = "stablehlo.broadcast_in_dim"(%behind#1) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x4xf32>
  // CHECK: "stablehlo.reshape"{{.*}}llm.views = array<i64: 0>
  %flat = "stablehlo.reshape"(%all) : (tensor<4x4xf32>) -> tensor<16xf32>
  return %sum, %flat : tensor<4x4xf32>, tensor<16xf32>
}
