// Dropout samples by the element of the whole batch: on a part of it, it says so, and so does its gradient.
// RUN: llmmem-opt --parallelize=mesh=dp=2 %s | FileCheck %s
// RUN: llmmem-opt --parallelize=mesh=dp=2 --differentiate %s | FileCheck %s --check-prefix=STEP

// CHECK: llm.dropout %{{.*}}, %{{.*}} {key = 3 : i64, p = 1.000000e-01 : f64, sharding = #llm.sharding<dimensions = {{\[\["dp"\], \[\], \[\]\]}}>} : tensor<2x4x8xf32>, tensor<2xi32>
// CHECK: llm.attention {{.*}} seed(%{{.*}}) {{.*}}p = 2.000000e-01 : f64, scale = 5.000000e-01 : f64, sharding = #llm.sharding<dimensions = {{\[\["dp"\], \[\], \[\], \[\]\]}}>
// The weights and the seed are whole.
// CHECK: llm.dropout %arg{{[0-9]+}}, %arg{{[0-9]+}} {key = 5 : i64, p = 1.000000e-01 : f64} : tensor<8x8xf32>, tensor<2xi32>
// STEP: llm.attention_grad {{.*}} sharding = #llm.sharding<dimensions = {{\[\["dp"\], \[\], \[\], \[\]\]}}>
// STEP: llm.dropout {{.*}} {key = 3 : i64, {{.*}}llm.phase = "backward", {{.*}}sharding = #llm.sharding<dimensions = {{\[\["dp"\], \[\], \[\]\]}}>
#training = #llm.training<optimizer = sgd, gradients = transient, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
!x = tensor<4x4x8xf32>
module attributes {llm.training = #training} {
  func.func @loss(%ids: tensor<4x4xi32> {llm.role = "input"}, %t: tensor<4x4xi32> {llm.role = "input"}, %s: tensor<2xi32> {llm.role = "seed"},
                  %table: tensor<16x8xf32> {llm.role = "param", llm.name = "table"},
                  %w: tensor<8x8xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
    %e = llm.embedding %ids, %table : (tensor<4x4xi32>, tensor<16x8xf32>) -> !x
    %d = llm.dropout %e, %s {key = 3 : i64, p = 0.1 : f64} : !x, tensor<2xi32>
    %a, %lse = llm.attention %d, %d, %d seed(%s) {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64, p = 0.2 : f64, key = 4 : i64}
      : (!x, !x, !x, tensor<2xi32>) -> (!x, tensor<4x2x4xf32>)
    %v = llm.dropout %w, %s {key = 5 : i64, p = 0.1 : f64} : tensor<8x8xf32>, tensor<2xi32>
    %y = llm.linear %a, %v layout(in_out) : (!x, tensor<8x8xf32>) -> !x
    %loss, %l = llm.cross_entropy %y, %t : (!x, tensor<4x4xi32>) -> (tensor<f32>, tensor<4x4xf32>)
    return %loss : tensor<f32>
  }
}
