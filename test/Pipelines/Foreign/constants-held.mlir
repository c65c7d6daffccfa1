// Constants stay that an op has to know when it is compiled (a shape), that the step returns, and whose elements differ.
//
// RUN: llmmem-opt --entry=main --checkpoint-budget=min %s 2>/dev/null | FileCheck %s
//
// CHECK-DAG: dense<8> : tensor<2xi64>
// CHECK-DAG: dense<1.0{{.*}}> : tensor<64xf32>
// CHECK-DAG: dense<[1.0{{.*}}> : tensor<2xf32>
// CHECK-NOT: linalg.fill
func.func @main(%x: tensor<64xf32>, %y: tensor<2xf32>) -> (tensor<8x8xf32>, tensor<64xf32>, tensor<2xf32>) {
  %shape = arith.constant dense<8> : tensor<2xi64>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %pair = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %a = linalg.add ins(%x, %one : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %b = tensor.reshape %a(%shape) : (tensor<64xf32>, tensor<2xi64>) -> tensor<8x8xf32>
  %1 = tensor.empty() : tensor<2xf32>
  %c = linalg.add ins(%y, %pair : tensor<2xf32>, tensor<2xf32>) outs(%1 : tensor<2xf32>) -> tensor<2xf32>
  return %b, %one, %c : tensor<8x8xf32>, tensor<64xf32>, tensor<2xf32>
}
