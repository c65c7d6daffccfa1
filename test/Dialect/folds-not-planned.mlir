// What a plan counted stays: nothing folds in a planned function, nor in a kernel, which hands out no operand.
// RUN: llmmem-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @decided
// CHECK: llm.cast
func.func @decided(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.policy = "none", llm.schedule = array<i64: 0>} {
  %0 = llm.cast %x : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @placed
// CHECK: llm.cast
func.func @placed(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.arena = 256 : i64, llm.peak = 64 : i64} {
  %0 = llm.cast %x {llm.offsets = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @grouped
// CHECK: llm.cast
func.func @grouped(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = llm.kernel(%in = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = llm.cast %in : tensor<8xf32> -> tensor<8xf32>
    llm.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
