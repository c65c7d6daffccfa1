// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// %0 is read after %1 is written: two buffers; the product takes one of them over.
// CHECK: llm.arena = 512
// CHECK-SAME: llm.peak = 768
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = llm.gelu %x : tensor<64xf32>
  %1 = llm.silu %0 : tensor<64xf32>
  %2 = llm.mul %0, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
