// Heads that are normalised one by one are split over tp through the view that separates them; the weight of the norm is that of
// every head, so each rank has it whole.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s

!x = tensor<1x4x16xf32>
!heads = tensor<1x4x4x4xf32>
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<4xf32> {{{[^}]*}}llm.role = "param"}
func.func @loss(%in: !x {llm.role = "input"}, %wq: tensor<16x16xf32> {llm.role = "param"}, %g: tensor<4xf32> {llm.role = "param"},
                %proj: tensor<16x16xf32> {llm.role = "param"}) -> !x {
  %q = llm.linear %in, %wq layout(in_out) : (!x, tensor<16x16xf32>) -> !x
  // CHECK: llm.reshape {{.*}} : tensor<1x4x8xf32> -> tensor<1x4x2x4xf32>
  %h = llm.reshape %q : !x -> !heads
  // CHECK: llm.rms_norm {{.*}} : (tensor<1x4x2x4xf32>, tensor<4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
  %n, %r = llm.rms_norm %h, %g {eps = 1.0e-5 : f64} : (!heads, tensor<4xf32>) -> (!heads, tensor<1x4x4xf32>)
  // CHECK: llm.reshape {{.*}} : tensor<1x4x2x4xf32> -> tensor<1x4x8xf32>
  %row = llm.reshape %n : !heads -> !x
  // CHECK: llm.rope {{.*}}heads = 2 : i64{{.*}} : tensor<1x4x8xf32>
  %t = llm.rope %row {heads = 4 : i64, theta = 10000.0 : f64} : !x
  %y = llm.linear %t, %proj layout(in_out) : (!x, tensor<16x16xf32>) -> !x
  return %y : !x
}
