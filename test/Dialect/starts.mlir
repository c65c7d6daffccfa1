// A started collective and its wait, printed and read again. Another start may read what is not there yet.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @f(
func.func @f(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // CHECK: %[[WHOLE:.*]] = llm.all_gather %arg0 over ["dp"] {dimension = 0 : i64, llm.started}
  %whole = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.started} : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: llm.all_reduce %[[WHOLE]] over ["dp"] {llm.started}
  %sum = llm.all_reduce %whole over ["dp"] {llm.started} : tensor<8x8xf32>
  // CHECK: llm.wait %[[WHOLE]] : tensor<8x8xf32>
  %w = llm.wait %whole : tensor<8x8xf32>
  %s = llm.wait %sum : tensor<8x8xf32>
  return %w, %s : tensor<8x8xf32>, tensor<8x8xf32>
}
