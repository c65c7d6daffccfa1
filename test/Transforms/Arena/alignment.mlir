// RUN: llmmem-opt --plan-arena --verify-plan %s | FileCheck %s

// 4 bytes and 260 bytes together: offsets are multiples of 256, the peak is counted in bytes as they are.
// CHECK: llm.peak = 528
func.func @step(%a: tensor<65xf32>, %b: tensor<f32>) -> (tensor<65xf32>, tensor<f32>) {
  %0 = llm.gelu %a : tensor<65xf32>
  %1 = llm.gelu %b : tensor<f32>
  return %0, %1 : tensor<65xf32>, tensor<f32>
}
