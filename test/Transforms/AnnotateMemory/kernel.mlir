// A kernel has the FLOPs of its body, and moves its operands and results: the activation between them has no bytes.
//
// RUN: llmmem-opt --annotate-memory %s | FileCheck %s

// (4 + 1) * 32 FLOPs; three tensors of 128 bytes.
//      CHECK: llm.kernel
//      CHECK: attributes {llm.bytes = array<i64: 128>
// CHECK-SAME: llm.cost = #llm.cost<flops = 160, bytes = 384,
func.func @step(%gate: tensor<1x4x8xf32>, %up: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %y = llm.kernel(%g = %gate, %u = %up) : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %s = llm.silu %g : tensor<1x4x8xf32>
    %p = llm.mul %s, %u : tensor<1x4x8xf32>
    llm.yield %p : tensor<1x4x8xf32>
  }
  return %y : tensor<1x4x8xf32>
}
