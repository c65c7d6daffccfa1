// An updated parameter lies in its argument (offset -1); another donated result is copied there at the end.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[P:[a-z0-9]+]]: memref<8xf32>, %[[Q:[a-z0-9]+]]: memref<8xf32>, %[[LR:[a-z0-9]+]]: memref<1xf32>) {
func.func @step(%p: tensor<8xf32> {llm.donated = 0 : i64}, %q: tensor<8xf32> {llm.donated = 1 : i64}, %lr: tensor<f32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {llm.arena = 256 : i64} {
  // CHECK: call @kernel_0_sgd(%[[P]], %[[Q]], %[[LR]], %[[P]])
  %0 = llm.sgd %p, %q, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK: call @kernel_0_sgd(%[[Q]], %[[P]], %[[LR]], %[[V:.*]]) :
  %1 = llm.sgd %q, %0, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: 0>}
    : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: memref.copy %[[V]], %[[Q]]
  // CHECK-NEXT: return
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
