// RUN: llmmem-opt --differentiate=if-present %s | FileCheck %s

// A module without @loss stays as it is, where that is asked for.
// CHECK-LABEL: func.func @step
// CHECK-NEXT: return
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
