// Numbers of a hidden state are made once, in their place; a generator whose state is an operand gives the same bits again.
// MHLO and CHLO are described as StableHLO is.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops %s | FileCheck %s

func.func @main(%low: tensor<f32>, %high: tensor<f32>, %shape: tensor<1xi64>, %state: tensor<2xui64>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<2xui64>, tensor<4xui32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: "stablehlo.rng"
  // CHECK-NOT: llm.pure
  // CHECK: "stablehlo.rng_bit_generator"{{.*}}llm.cost = #llm.cost<flops = 180, bytes = 48,{{.*}}llm.pure
  // CHECK: "chlo.square"{{.*}}llm.in_place = [array<i64: 0>], llm.pure
  // CHECK: "mhlo.sqrt"{{.*}}llm.in_place = [array<i64: 0>], llm.pure
  %random = "stablehlo.rng"(%low, %high, %shape) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %next, %bits = "stablehlo.rng_bit_generator"(%state) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %square = "chlo.square"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %root = "mhlo.sqrt"(%square) : (tensor<4xf32>) -> tensor<4xf32>
  return %random, %next, %bits, %square, %root : tensor<4xf32>, tensor<2xui64>, tensor<4xui32>, tensor<4xf32>, tensor<4xf32>
}
