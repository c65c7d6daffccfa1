// The printed form of every op of LlmCollectiveOps.td parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @f(
// CHECK-SAME: attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>}
func.func @f(%x: tensor<4x8xf32>, %d: tensor<8x8xf32>, %n: tensor<i32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // CHECK: llm.all_gather %arg0 over ["tp"] {dimension = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x32xf32>
  %0 = llm.all_gather %x over ["tp"] {dimension = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x32xf32>
  // CHECK: llm.all_gather %arg0 over ["dp"] destination(%arg1) {dimension = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = llm.all_gather %x over ["dp"] destination(%d) {dimension = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: llm.reduce_scatter %arg0 over ["dp", "tp"] {dimension = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = llm.reduce_scatter %x over ["dp", "tp"] {dimension = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK: llm.all_reduce %arg2 over ["dp"] : tensor<i32>
  %3 = llm.all_reduce %n over ["dp"] : tensor<i32>
  // CHECK: llm.replica %arg0 over ["tp"] : tensor<4x8xf32>
  %4 = llm.replica %x over ["tp"] : tensor<4x8xf32>
  // CHECK: llm.broadcast %arg0 over ["dp"] {root = 1 : i64} : tensor<4x8xf32>
  %5 = llm.broadcast %x over ["dp"] {root = 1 : i64} : tensor<4x8xf32>
  // CHECK: llm.reduce %arg0 over ["dp"] {root = 0 : i64} : tensor<4x8xf32>
  %6 = llm.reduce %x over ["dp"] {root = 0 : i64} : tensor<4x8xf32>
  // CHECK: llm.all_to_all %arg0 over ["tp"] {concat = 0 : i64, split = 1 : i64} : (tensor<4x8xf32>) -> tensor<16x2xf32>
  %7 = llm.all_to_all %x over ["tp"] {concat = 0 : i64, split = 1 : i64} : (tensor<4x8xf32>) -> tensor<16x2xf32>
  // CHECK: llm.send_receive %arg0 over ["tp"] {shift = -1 : i64, wraps} : tensor<4x8xf32>
  %8 = llm.send_receive %x over ["tp"] {shift = -1 : i64, wraps} : tensor<4x8xf32>
  // CHECK: llm.all_reduce_bucket %arg0, %arg1 over ["dp"] : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>)
  %9:2 = llm.all_reduce_bucket %x, %d over ["dp"] : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>)
  // CHECK: llm.reduce_scatter_bucket %arg0, %arg1 over ["tp"] : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<1x8xf32>, tensor<2x8xf32>)
  %10:2 = llm.reduce_scatter_bucket %x, %d over ["tp"] : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<1x8xf32>, tensor<2x8xf32>)
  // CHECK: llm.all_gather_bucket %arg0, %arg0 over ["dp"] : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %11:2 = llm.all_gather_bucket %x, %x over ["dp"] : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  // CHECK: llm.all_gather_bucket %arg0 over ["dp"] destinations(%arg1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %12 = llm.all_gather_bucket %x over ["dp"] destinations(%d) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
