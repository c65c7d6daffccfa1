// Over cp each rank has its positions of every sequence. Before the rotation, an exchange gives all positions of the rank's
// heads, and another one after attention gives the positions back. Weights are copies.
// RUN: llmmem-opt --parallelize=mesh=dp=2,cp=2 %s | FileCheck %s
// Sums over both name them in the order of the mesh.
// RUN: llmmem-opt --parallelize=mesh=cp=2,dp=2 %s | FileCheck %s --check-prefix=ORDER

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<2x4xi32> {llm.name = "ids", llm.role = "input", llm.shard = ["dp"],
// CHECK-SAME: llm.sharding = #llm.sharding<dimensions = {{\[\[\], \["cp"\]\]}}>, llm.whole = tensor<4x8xi32>}
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<11x16xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp", "cp"]
func.func @loss(%ids: tensor<4x8xi32> {llm.role = "input", llm.name = "ids"},
                %targets: tensor<4x8xi32> {llm.role = "input", llm.name = "targets"},
                %table: tensor<11x16xf32> {llm.role = "param", llm.name = "table"},
                %w: tensor<16x16xf32> {llm.role = "param", llm.name = "w"}) -> tensor<f32> {
  %x = llm.embedding %ids, %table : (tensor<4x8xi32>, tensor<11x16xf32>) -> tensor<4x8x16xf32>
  // CHECK: %[[X:[a-z0-9]+]] = llm.embedding %[[IDS]], %[[TABLE]] : (tensor<2x4xi32>, tensor<11x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: %[[ALL:[a-z0-9]+]] = llm.all_to_all %[[X]] over ["cp"] {concat = 1 : i64, {{.*}}split = 2 : i64} : (tensor<2x4x16xf32>) -> tensor<2x8x8xf32>
  // CHECK: %[[Q:[a-z0-9]+]] = llm.rope %[[ALL]] {heads = 2 : i64
  %q = llm.rope %x {heads = 4 : i64, theta = 100.0 : f64} : tensor<4x8x16xf32>
  // CHECK: llm.attention %[[Q]], %[[Q]], %[[ALL]] {heads = 2 : i64, kv_heads = 2 : i64
  %out, %lse = llm.attention %q, %q, %x {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.5 : f64}
     : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x4x8xf32>)
  // CHECK: %[[OWN:[a-z0-9]+]] = llm.all_to_all {{.*}} over ["cp"] {concat = 2 : i64, {{.*}}split = 1 : i64} : (tensor<2x8x8xf32>) -> tensor<2x4x16xf32>
  // CHECK: llm.linear %[[OWN]], {{.*}} -> tensor<2x4x16xf32>
  %y = llm.linear %out, %w layout(in_out) : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %logits = llm.linear %y, %table layout(out_in) : (tensor<4x8x16xf32>, tensor<11x16xf32>) -> tensor<4x8x11xf32>
  // CHECK: llm.all_reduce {{.*}} over ["dp", "cp"] {{.*}}: tensor<i32>
  // ORDER: llm.all_reduce {{.*}} over ["cp", "dp"] {{.*}}: tensor<i32>
  // CHECK: llm.all_reduce {{.*}} over ["dp", "cp"] {{.*}}: tensor<f32>
  // ORDER: llm.all_reduce {{.*}} over ["cp", "dp"] {{.*}}: tensor<f32>
  %loss, %sum = llm.cross_entropy %logits, %targets : (tensor<4x8x11xf32>, tensor<4x8xi32>) -> (tensor<f32>, tensor<4x8xf32>)
  return %loss : tensor<f32>
}
