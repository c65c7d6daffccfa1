// What depends on the rank's place asks for its position once, at the kernel's entry: a part of what is whole, and random
// numbers of a part of the batch.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s

// CHECK: func.func private @llmmem_group_position(i64) -> i64
func.func @step(%x: tensor<8x6xf32>, %s: tensor<2xi32>) -> (tensor<2x6xf32>, tensor<8x6xf32>)
    attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 4, tp = 2>} {
  // CHECK-LABEL: func.func private @kernel_0_part(
  // CHECK-DAG: %[[DP:.*]] = arith.constant 1 : i64
  // CHECK: %[[POSITION:.*]] = call @llmmem_group_position(%[[DP]])
  // CHECK-NOT: llmmem_group_position
  // CHECK: scf.
  %part = llm.part %x over ["dp"] {llm.offsets = array<i64: 0>} : tensor<8x6xf32> -> tensor<2x6xf32>
  // CHECK-LABEL: func.func private @kernel_1_dropout(
  // CHECK: %[[BOTH:.*]] = arith.constant 3 : i64
  // CHECK: call @llmmem_group_position(%[[BOTH]])
  // CHECK: scf.
  %drop = llm.dropout %x, %s {sharding = #llm.sharding<dimensions = [["dp", "tp"], []]>, p = 0.1 : f64, key = 1 : i64, llm.offsets = array<i64: 256>} : tensor<8x6xf32>, tensor<2xi32>
  return %part, %drop : tensor<2x6xf32>, tensor<8x6xf32>
}
