// RUN: not llmmem-opt --checkpoint-policy=none %s 2>&1 | FileCheck %s

// CHECK: dynamic-shape.mlir:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}}tensor<?x4xf32>' has a dynamic shape; a plan in bytes needs every dimension as a number
func.func @step(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  return %x : tensor<?x4xf32>
}
