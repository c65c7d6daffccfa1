// A step that holds nothing in the host's arena has none, whatever was written of one.
// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// CHECK-NOT: llm.host_arena
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.host_arena = 512 : i64} {
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
