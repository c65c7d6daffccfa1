// The printed form of every op of LlmRelativeOps.td, and of what a decoder reads, parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @relative_bias(
// CHECK: llm.relative_bias %arg0 {bidirectional, keys = 512 : i64, max_distance = 128 : i64, queries = 512 : i64} : tensor<32x8xf32> -> tensor<8x1023xf32>
// CHECK: llm.relative_bias_grad %{{.*}} into(%arg0) {keys = 512 : i64, max_distance = 128 : i64, queries = 512 : i64}
// CHECK-SAME: : (tensor<8x1023xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
func.func @relative_bias(%table: tensor<32x8xf32>) {
  %b = llm.relative_bias %table {queries = 512 : i64, keys = 512 : i64, max_distance = 128 : i64, bidirectional}
    : tensor<32x8xf32> -> tensor<8x1023xf32>
  %d = llm.relative_bias_grad %b into(%table) {queries = 512 : i64, keys = 512 : i64, max_distance = 128 : i64}
    : (tensor<8x1023xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  return
}

// CHECK-LABEL: func.func @diagonals(
// CHECK: llm.add_relative_bias %arg0, %arg1 : tensor<4x8x512x512xf32>, tensor<8x1023xf32>
// CHECK: llm.sum_diagonals %arg0 : tensor<4x8x512x512xf32> -> tensor<8x1023xf32>
func.func @diagonals(%s: tensor<4x8x512x512xf32>, %b: tensor<8x1023xf32>) {
  %y = llm.add_relative_bias %s, %b : tensor<4x8x512x512xf32>, tensor<8x1023xf32>
  %d = llm.sum_diagonals %s : tensor<4x8x512x512xf32> -> tensor<8x1023xf32>
  return
}

// CHECK-LABEL: func.func @shift_tokens(
// CHECK: llm.shift_tokens %arg0 {padding = 0 : i64, start = 0 : i64} : tensor<8x512xi32>
func.func @shift_tokens(%labels: tensor<8x512xi32>) {
  %ids = llm.shift_tokens %labels {start = 0 : i64, padding = 0 : i64} : tensor<8x512xi32>
  return
}
