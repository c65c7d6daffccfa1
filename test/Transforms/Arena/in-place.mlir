// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// Each result takes over its operand's bytes: one buffer of 256 bytes in all.
// CHECK: llm.arena = 256
// CHECK-SAME: llm.peak = 512
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: 0>
// CHECK: llm.silu {{.*}}llm.offsets = array<i64: 0>
// CHECK: llm.reshape {{.*}}llm.offsets = array<i64: 0>
func.func @step(%x: tensor<64xf32>) -> tensor<2x32xf32> {
  %0 = llm.gelu %x : tensor<64xf32>
  %1 = llm.silu %0 : tensor<64xf32>
  %2 = llm.reshape %1 : tensor<64xf32> -> tensor<2x32xf32>
  return %2 : tensor<2x32xf32>
}
