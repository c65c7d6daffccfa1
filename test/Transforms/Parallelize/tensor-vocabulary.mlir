// A tied table is split by tokens, and padded where ranks do not divide them: lookups are summed over ranks, logits are a rank's
// columns, and the loss is summed over those of the targets, from the sums of all ranks.
// RUN: llmmem-opt --parallelize=mesh=dp=2,tp=2 %s | FileCheck %s

!x = tensor<4x3x8xf32>
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<2x3xi32> {{{.*}}llm.shard = ["dp"]
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<6x8xf32> {{{.*}}llm.sharding = #llm.sharding<dimensions = {{\[\["tp"\], \[\]\]}}>, llm.whole = tensor<11x8xf32>}
func.func @loss(%ids: tensor<4x3xi32> {llm.role = "input"}, %t: tensor<4x3xi32> {llm.role = "input"},
                %table: tensor<11x8xf32> {llm.role = "param"}) -> tensor<f32> {
  // CHECK: %[[OWN:.*]] = llm.embedding %[[IDS]], %[[TABLE]] {vocabulary = #llm.vocabulary<axes = ["tp"], size = 11>}
  // CHECK: %[[X:.*]] = llm.all_reduce %[[OWN]] over ["tp"]
  %x = llm.embedding %ids, %table : (tensor<4x3xi32>, tensor<11x8xf32>) -> !x
  // CHECK: %[[COPY:.*]] = llm.replica %[[X]] over ["tp"]
  // CHECK: %[[LOGITS:.*]] = llm.linear %[[COPY]], %[[TABLE]] {{.*}} -> tensor<2x3x6xf32>
  %y = llm.linear %x, %table layout(out_in) : (!x, tensor<11x8xf32>) -> tensor<4x3x11xf32>
  // CHECK: %[[LSE:.*]] = llm.log_sum_exp %[[LOGITS]] {{{.*}}vocabulary = #llm.vocabulary<axes = ["tp"], size = 11>} : (tensor<2x3x6xf32>) -> tensor<2x3xf32>
  // CHECK: %[[ONE:.*]] = llm.reshape %[[LSE]] {{.*}} -> tensor<2x3x1xf32>
  // CHECK: %[[ALL:.*]] = llm.all_gather %[[ONE]] over ["tp"] {dimension = 2 : i64
  // CHECK: %[[SUM:.*]] = llm.log_sum_exp %[[ALL]]
  // CHECK: %[[COUNT:.*]] = llm.all_reduce %{{.*}} over ["dp"] : tensor<i32>
  // CHECK: %[[PART:.*]] = llm.target_loss %[[LOGITS]], %[[SUM]], %{{.*}} count(%[[COUNT]]) {{{.*}}vocabulary = #llm.vocabulary<axes = ["tp"], size = 11>}
  // CHECK: %[[LOSS:.*]] = llm.all_reduce %[[PART]] over ["dp", "tp"]
  // CHECK: return %[[LOSS]]
  %loss, %l = llm.cross_entropy %y, %t : (tensor<4x3x11xf32>, tensor<4x3xi32>) -> (tensor<f32>, tensor<4x3xf32>)
  return %loss : tensor<f32>
}
