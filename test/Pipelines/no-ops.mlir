// A function that returns what it was given runs nothing: it has a plan under every budget and policy.
//
// RUN: llmmem-opt --entry=main --checkpoint-budget=min --explain --emit-proof=%t.proof.json %s 2> %t.said | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// RUN: llmmem-opt --entry=main --checkpoint-budget=1GB --memory-report %s 2>&1 | FileCheck %s
// RUN: llmmem-opt --entry=main --checkpoint-policy=full %s | FileCheck %s
// RUN: not llmmem-opt --entry=main --checkpoint-budget=255 %s 2>&1 | FileCheck %s --check-prefix=NONE
//
// CHECK: return %arg0 : tensor<f32>
// SAID: peak 256 B, held throughout; resident 256 B
// NONE: error: no plan exists under a budget of 255 B (255 bytes) with policy 'budget'
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
