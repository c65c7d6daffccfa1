// RUN: not llmmem-opt --inline-calls=entry=train %s 2>&1 | FileCheck %s

// CHECK: error: has no function 'train' to plan; it has 'main', 'other'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
