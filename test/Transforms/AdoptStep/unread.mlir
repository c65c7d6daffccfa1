// What nobody reads is left out, with what it alone reads; what has effects stays.
// RUN: llmmem-opt --allow-unregistered-dialect --adopt-step %s 2>&1 | FileCheck %s

// CHECK: remark: 2 ops whose results nobody reads are left out
// CHECK-LABEL: func.func @main
// CHECK-NEXT: "test.forward"
// CHECK-NEXT: "test.print"
// CHECK-NEXT: return
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %dead = "test.compare"(%x) {llm.pure} : (tensor<4xf32>) -> tensor<4xf32>
  %loss = "test.forward"(%x) {llm.pure} : (tensor<4xf32>) -> tensor<f32>
  %more = "test.convert"(%dead) {llm.pure} : (tensor<4xf32>) -> tensor<4xf32>
  %effect = "test.print"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %loss : tensor<f32>
}
