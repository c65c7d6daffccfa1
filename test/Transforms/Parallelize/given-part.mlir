// A sharding given to what every rank has whole cuts it into parts, and so is read what is one for all ranks together with parts. The
// gradient of such a whole is gathered from the parts.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s
// RUN: llmmem-opt --parallelize=mesh=tp=2 --differentiate %s | FileCheck %s --check-prefix=GRADIENT

#rows = #llm.sharding<dimensions = [[], ["tp"], []]>
#whole = #llm.sharding<dimensions = [[], []]>
!x = tensor<4x4x8xf32>
#training = #llm.training<optimizer = sgd, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>
module attributes {llm.training = #training} {
  func.func @loss(%ids: tensor<4x4xi32> {llm.role = "input"}, %t: tensor<4x4xi32> {llm.role = "input"},
                  %table: tensor<6x8xf32> {llm.role = "param", llm.sharding = #whole}) -> tensor<f32> {
    // CHECK: %[[X:.*]] = llm.embedding
    %x = llm.embedding %ids, %table : (tensor<4x4xi32>, tensor<6x8xf32>) -> !x
    // CHECK: %[[Y:.*]] = llm.gelu %[[X]] : tensor<4x4x8xf32>
    // CHECK: %[[OWN:.*]] = llm.part %[[Y]] over ["tp"] {dimension = 1 : i64{{.*}}} : tensor<4x4x8xf32> -> tensor<4x2x8xf32>
    %y = llm.gelu %x {llm.sharding = #rows} : !x
    // CHECK: %[[OTHER:.*]] = llm.part %[[X]] over ["tp"] {dimension = 1 : i64
    // CHECK: %[[SUM:.*]] = llm.add %[[OWN]], %[[OTHER]] : tensor<4x2x8xf32>
    // GRADIENT-COUNT-2: llm.all_gather %{{.*}} over ["tp"] {dimension = 1 : i64{{.*}} : (tensor<4x2x8xf32>) -> tensor<4x4x8xf32>
    %z = llm.add %y, %x : !x
    // CHECK: llm.replica %arg2
    // CHECK: llm.linear %[[SUM]], %{{.*}} -> tensor<4x2x6xf32>
    %logits = llm.linear %z, %table layout(out_in) : (!x, tensor<6x8xf32>) -> tensor<4x4x6xf32>
    %loss, %lse = llm.cross_entropy %logits, %t : (tensor<4x4x6xf32>, tensor<4x4xi32>) -> (tensor<f32>, tensor<4x4xf32>)
    return %loss : tensor<f32>
  }
}
