// Over a split vocabulary the loss head takes what ranks tell each other inside; the sums of the loss and of dx stay after it.
// RUN: llmmem-opt --parallelize=mesh=tp=2 --differentiate --group-loss-head %s | FileCheck %s --implicit-check-not='= llm.log_sum_exp' --implicit-check-not='= llm.all_gather' --implicit-check-not='= llm.target_loss'
// RUN: llmmem-opt --parallelize=mesh=dp=2,tp=2 --split-micro-batches=count=2 --differentiate --group-loss-head %s | FileCheck %s --check-prefix=MICRO

// CHECK: %[[X:.*]] = llm.replica
// CHECK: %[[PART:[a-z0-9_]+]], %[[DX:[a-z0-9_]+]], %{{[a-z0-9_]+}} = llm.loss_head %[[X]], %arg2, %arg1 into(%arg5) layout(out_in) {chunk = 4 : i64
// CHECK-SAME: vocabulary = #llm.vocabulary<axes = ["tp"], size = 11>
// CHECK-SAME: (tensor<4x4xf32>, tensor<6x4xf32>
// CHECK: %[[LOSS:.*]] = llm.all_reduce %[[PART]] over ["tp"]
// CHECK: llm.all_reduce %[[DX]] over ["tp"]
// CHECK: return %[[LOSS]],
// MICRO: llm.loss_head {{.*}} count(%{{.*}}) {{.*}}vocabulary = #llm.vocabulary<axes = ["tp"], size = 11>{{.*}}tensor<1x4xf32>
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%ids: tensor<4xi32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %w: tensor<11x4xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %x = llm.embedding %ids, %w : (tensor<4xi32>, tensor<11x4xf32>) -> tensor<4x4xf32>
    %y = llm.linear %x, %w layout(out_in) : (tensor<4x4xf32>, tensor<11x4xf32>) -> tensor<4x11xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x11xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
