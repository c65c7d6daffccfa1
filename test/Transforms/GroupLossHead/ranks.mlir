// A loss that is summed over ranks, with a count of all ranks' targets, is a loss head all the same; the sum waits after it.
// RUN: llmmem-opt --parallelize=mesh=dp=2 --differentiate --group-loss-head %s | FileCheck %s

// CHECK: %[[COUNT:.*]] = llm.all_reduce %{{.*}} over ["dp"] {{.*}} : tensor<i32>
// CHECK-NEXT: %[[PART:[^,]*]], {{.*}} = llm.loss_head %{{.*}} into(%{{.*}}) count(%[[COUNT]]) layout(out_in)
// CHECK-NEXT: %[[LOSS:.*]] = llm.all_reduce %[[PART]] over ["dp"] {{.*}}llm.phase = "backward"{{.*}} : tensor<f32>
// CHECK-NOT: llm.cross_entropy
// CHECK: return %[[LOSS]],
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%ids: tensor<4xi32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"},
                  %w: tensor<8x4xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %x = llm.embedding %ids, %w : (tensor<4xi32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %y = llm.linear %x, %w layout(out_in) : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
