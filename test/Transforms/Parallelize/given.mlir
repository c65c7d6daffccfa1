// Shardings given on arguments go to every value, and one given on an op is made: of addends by scattering them, of parts by
// exchanging or gathering them.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s

#rows = #llm.sharding<dimensions = [["tp"], []]>
#columns = #llm.sharding<dimensions = [[], ["tp"]]>
#whole = #llm.sharding<dimensions = [[], []]>
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x6xf32>
// CHECK-SAME: tensor<6x8xf32> {llm.role = "param", llm.sharding = #llm.sharding<dimensions = {{\[\[\], \[\]\]}}>}
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input", llm.sharding = #columns}, %w: tensor<8x6xf32> {llm.role = "param"},
                %v: tensor<6x8xf32> {llm.role = "param", llm.sharding = #whole}) -> tensor<4x8xf32> {
  // CHECK: %[[G:.*]] = llm.gelu %[[X]] : tensor<4x4xf32>
  %g = llm.gelu %x : tensor<4x8xf32>
  // CHECK: %[[PART:.*]] = llm.linear %[[G]], %[[W]]
  // CHECK: %[[Y:.*]] = llm.reduce_scatter %[[PART]] over ["tp"] {dimension = 0 : i64{{.*}} -> tensor<2x6xf32>
  %y = llm.linear %g, %w layout(in_out) {llm.sharding = #rows} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // CHECK: %[[A:.*]] = llm.gelu %[[Y]] : tensor<2x6xf32>
  // CHECK: %[[B:.*]] = llm.all_to_all %[[A]] over ["tp"] {concat = 0 : i64, {{.*}}split = 1 : i64} : (tensor<2x6xf32>) -> tensor<4x3xf32>
  %a = llm.gelu %y {llm.sharding = #columns} : tensor<4x6xf32>
  // CHECK: %[[C:.*]] = llm.silu %[[B]] : tensor<4x3xf32>
  // CHECK: %[[D:.*]] = llm.all_gather %[[C]] over ["tp"] {dimension = 1 : i64
  %c = llm.silu %a {llm.sharding = #whole} : tensor<4x6xf32>
  %d = llm.silu %c : tensor<4x6xf32>
  %e = llm.linear %g, %w layout(in_out) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %z = llm.linear %e, %v layout(in_out) : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
