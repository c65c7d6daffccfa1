// RUN: not llmmem-opt --differentiate %s 2>&1 | FileCheck %s

// CHECK: error: has no function @loss to differentiate; llmmem-import writes one
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
