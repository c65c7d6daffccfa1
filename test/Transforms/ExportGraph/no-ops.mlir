// A step that gives back what it was given has no op that names a dialect, and nothing to put a barrier in front of.
// RUN: llmmem-opt --export-graph %s | FileCheck %s

// CHECK: func.func @step(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: return %arg0
func.func @step(%x: tensor<4xf32> {llm.role = "param"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
