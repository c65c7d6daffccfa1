// A constant of one number may be written where it is read. x holds 256 bytes throughout, and two constants as many each: 768, and 256 of
// the arena. With fills the arena holds one of them at a time, next to a result in the bytes of what it reads: 256 and 512. The first fill
// runs again for the last op. Filling takes time, so constants stay where they fit.
//
// RUN: llmmem-opt --entry=main --checkpoint-budget=min %s 2> %t.least | FileCheck %s --check-prefix=FILLED
// RUN: FileCheck %s --check-prefix=LEAST < %t.least
// RUN: llmmem-opt --entry=main --checkpoint-budget=1023 %s 2>/dev/null | FileCheck %s --check-prefix=FILLED
// RUN: llmmem-opt --entry=main --checkpoint-budget=1024 %s 2>/dev/null | FileCheck %s --check-prefix=HELD
// RUN: not llmmem-opt --entry=main --checkpoint-budget=767 %s 2>&1 | FileCheck %s --check-prefix=NONE
//
// FILLED-NOT: dense<
// FILLED: linalg.fill {{.*}}llm.id = 0
// FILLED: linalg.add
// FILLED: linalg.fill
// FILLED: linalg.mul
// FILLED: linalg.fill {{.*}}llm.clone_of = 0
// FILLED: linalg.add
// LEAST: resident     256 B
// LEAST: arena          512 B (512 bytes)
// HELD: dense<2.0
// HELD: dense<3.0
// HELD-NOT: linalg.fill
// NONE: error: {{.*}}767
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %0 = tensor.empty() : tensor<64xf32>
  %a = linalg.add ins(%x, %two : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %three = arith.constant dense<3.0> : tensor<64xf32>
  %1 = tensor.empty() : tensor<64xf32>
  %b = linalg.mul ins(%a, %three : tensor<64xf32>, tensor<64xf32>) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %2 = tensor.empty() : tensor<64xf32>
  %c = linalg.add ins(%b, %two : tensor<64xf32>, tensor<64xf32>) outs(%2 : tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}
