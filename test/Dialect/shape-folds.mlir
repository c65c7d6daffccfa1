// A transpose that keeps the order and a range that is the whole fold; others print as they were read.
// RUN: llmmem-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @identities
// CHECK-NEXT: return %arg0, %arg0, %arg0
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = llm.transpose %x {order = array<i64: 0, 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = llm.slice %x {begin = 0 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = llm.pad %x {begin = 0 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func @others
// CHECK-NEXT: %[[T:.*]] = llm.transpose %arg0 {order = array<i64: 1, 0>} : tensor<3x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT: %[[S:.*]] = llm.slice %arg0 {begin = 1 : i64} : tensor<3x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT: %[[P:.*]] = llm.pad %arg0 {begin = 2 : i64} : tensor<3x3xf32> -> tensor<3x6xf32>
// CHECK-NEXT: return %[[T]], %[[S]], %[[P]]
func.func @others(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x2xf32>, tensor<3x6xf32>) {
  %0 = llm.transpose %x {order = array<i64: 1, 0>} : tensor<3x3xf32> -> tensor<3x3xf32>
  %1 = llm.slice %x {begin = 1 : i64} : tensor<3x3xf32> -> tensor<3x2xf32>
  %2 = llm.pad %x {begin = 2 : i64} : tensor<3x3xf32> -> tensor<3x6xf32>
  return %0, %1, %2 : tensor<3x3xf32>, tensor<3x2xf32>, tensor<3x6xf32>
}
