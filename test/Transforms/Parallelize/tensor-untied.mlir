// A head of its own is split by tokens, too, with its padding.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[HEAD:[a-z0-9]+]]: tensor<6x8xf32> {{{.*}}llm.whole = tensor<11x8xf32>}
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"}, %head: tensor<11x8xf32> {llm.role = "param"})
    -> tensor<f32> {
  // CHECK: %[[LOGITS:.*]] = llm.linear %{{.*}}, %[[HEAD]] {{.*}} -> tensor<4x6xf32>
  // CHECK: llm.log_sum_exp %[[LOGITS]]
  // CHECK: llm.target_loss %[[LOGITS]]
  // CHECK-NOT: llm.cross_entropy
  %y = llm.linear %x, %head layout(out_in) : (tensor<4x8xf32>, tensor<11x8xf32>) -> tensor<4x11xf32>
  %loss, %l = llm.cross_entropy %y, %t : (tensor<4x11xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return %loss : tensor<f32>
}
