// An op that may overwrite two arguments overwrites the one that is donated to what it computes, whatever the order of its operands: a
// gradient its accumulator and not the parameter, and a sum the argument that is not read again.
//
// RUN: llmmem-opt --plan-arena --verify-plan --convert-step-to-kernels --split-input-file %s | FileCheck %s

// CHECK: func.func @step(%{{.*}}: memref<1xi8>, %[[P:.*]]: memref<64xf32>, %[[G:.*]]: memref<64xf32>, %[[LR:.*]]: memref<1xf32>
// CHECK: call @kernel_0_add(%[[P]], %[[G]], %[[G]])
// CHECK: call @kernel_1_sgd(%[[P]], %[[G]], %[[LR]], %[[P]])
func.func @step(%p: tensor<64xf32> {llm.donated = 1 : i64}, %g: tensor<64xf32> {llm.donated = 0 : i64}, %lr: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %g1 = llm.add %p, %g : tensor<64xf32>
  %p1 = llm.sgd %p, %g1, %lr {weight_decay = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %g1, %p1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK: func.func @step(%{{.*}}: memref<1xi8>, %[[A:.*]]: memref<64xf32>, %[[B:.*]]: memref<64xf32>
// CHECK: call @kernel_0_add(%[[A]], %[[B]], %[[A]])
// CHECK: call @kernel_0_add(%[[A]], %[[B]], %[[B]])
// CHECK: call @kernel_1_gelu(%[[A]], %[[A]])
func.func @step(%a: tensor<64xf32> {llm.donated = 0 : i64}, %b: tensor<64xf32> {llm.donated = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %m = llm.add %a, %b {llm.in_argument = array<i64: 0>} : tensor<64xf32>
  %r1 = llm.add %m, %b : tensor<64xf32>
  %r0 = llm.gelu %m : tensor<64xf32>
  return %r0, %r1 : tensor<64xf32>, tensor<64xf32>
}
