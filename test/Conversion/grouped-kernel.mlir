// An llm.kernel is one function, equal ones share it, and what lives between its ops is nowhere in memory: the arena
// holds the two results and nothing else.
//
// RUN: llmmem-opt --checkpoint-policy=none %s 2>/dev/null | llmmem-opt --convert-step-to-kernels | FileCheck %s

//       CHECK: func @step(%{{.*}}: memref<512xi8>
// CHECK-COUNT-2: call @kernel_0_silu_mul(
//   CHECK-NOT: call
//       CHECK: func private @kernel_0_silu_mul(%arg0: memref<64xf32>, %arg1: memref<64xf32>, %arg2: memref<64xf32>)
//   CHECK-NOT: alloca
func.func @step(%gate: tensor<1x8x8xf32>, %up: tensor<1x8x8xf32>) -> (tensor<1x8x8xf32>, tensor<1x8x8xf32>) {
  %a = llm.silu %gate {llm.block = 0 : i64} : tensor<1x8x8xf32>
  %y = llm.mul %a, %up {llm.block = 0 : i64} : tensor<1x8x8xf32>
  %b = llm.silu %up {llm.block = 1 : i64} : tensor<1x8x8xf32>
  %z = llm.mul %b, %y {llm.block = 1 : i64} : tensor<1x8x8xf32>
  return %y, %z : tensor<1x8x8xf32>, tensor<1x8x8xf32>
}
