// Equal constants of tensors are one buffer, which is held once: x (256 bytes), the constant (256) and another one (256) are resident,
// and the arena holds the results in turn, each in the bytes of what it reads.
//
// RUN: llmmem-opt --entry=main --checkpoint-budget=min %s 2> %t.report | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.report
//
// CHECK: arith.constant {{.*}}dense<[2.0{{.*}}>
// CHECK: arith.constant {{.*}}dense<[3.0{{.*}}>
// CHECK-NOT: dense<
// REPORT: resident     768 B
// REPORT: arena          256 B (256 bytes)
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %two = arith.constant dense<[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.5]> : tensor<64xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %a = linalg.add ins(%x, %two : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %again = arith.constant dense<[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.5]> : tensor<64xf32>
  %1 = tensor.empty() : tensor<64xf32>
  %b = linalg.mul ins(%a, %again : tensor<64xf32>, tensor<64xf32>) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %three = arith.constant dense<[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.5]> : tensor<64xf32>
  %2 = tensor.empty() : tensor<64xf32>
  %c = linalg.add ins(%b, %three : tensor<64xf32>, tensor<64xf32>) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}
