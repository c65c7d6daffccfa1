// With sequence parallelism sums are scattered along the sequence, what stands between products runs on a rank's positions, with
// the random numbers and the rows of the table that belong to them, and products read all positions: one gather for all readers.
// RUN: llmmem-opt "--parallelize=mesh=tp=2 sequence-parallel=true" %s | FileCheck %s

!x = tensor<2x4x8xf32>
func.func @loss(%ids: tensor<2x4xi32> {llm.role = "input"}, %t: tensor<2x4xi32> {llm.role = "input"}, %seed: tensor<2xi32> {llm.role = "seed"},
                %table: tensor<12x8xf32> {llm.role = "param", llm.name = "table"}, %positions: tensor<6x8xf32> {llm.role = "param", llm.name = "positions"},
                %g: tensor<8xf32> {llm.role = "param", llm.name = "g"}, %gate: tensor<8x12xf32> {llm.role = "param", llm.name = "gate"},
                %up: tensor<8x12xf32> {llm.role = "param", llm.name = "up"}, %down: tensor<12x8xf32> {llm.role = "param", llm.name = "down"}) -> tensor<f32> {
  // CHECK: %[[OWN:.*]] = llm.embedding
  // CHECK: %[[E:.*]] = llm.reduce_scatter %[[OWN]] over ["tp"] {dimension = 1 : i64{{.*}} -> tensor<2x2x8xf32>
  %e = llm.embedding %ids, %table : (tensor<2x4xi32>, tensor<12x8xf32>) -> !x
  // CHECK: %[[POSITIONS:.*]] = llm.replica %{{.*}} over ["tp"]
  // CHECK: %[[X:.*]] = llm.add_positions %[[E]], %[[POSITIONS]] {axes = ["tp"]} : (tensor<2x2x8xf32>, tensor<6x8xf32>) -> tensor<2x2x8xf32>
  %x = llm.add_positions %e, %positions : (!x, tensor<6x8xf32>) -> !x
  // CHECK: %[[D:.*]] = llm.dropout %[[X]], %{{.*}} sharding = #llm.sharding<dimensions = {{\[\[\], \["tp"\], \[\]\]}}>
  %d = llm.dropout %x, %seed {key = 3 : i64, p = 0.1 : f64} : !x, tensor<2xi32>
  // CHECK: %[[G:.*]] = llm.replica %{{.*}} over ["tp"]
  // CHECK: %[[N:.*]], %{{.*}} = llm.rms_norm %[[D]], %[[G]]
  %n, %rstd = llm.rms_norm %d, %g {eps = 1.0e-5 : f64} : (!x, tensor<8xf32>) -> (!x, tensor<2x4xf32>)
  // CHECK: %[[ALL:.*]] = llm.all_gather %[[N]] over ["tp"] {dimension = 1 : i64{{.*}} -> tensor<2x4x8xf32>
  // CHECK: llm.linear %[[ALL]]
  // CHECK-NOT: llm.all_gather
  // CHECK: llm.linear %[[ALL]]
  %a = llm.linear %n, %gate layout(in_out) : (!x, tensor<8x12xf32>) -> tensor<2x4x12xf32>
  %b = llm.linear %n, %up layout(in_out) : (!x, tensor<8x12xf32>) -> tensor<2x4x12xf32>
  %m = llm.mul %a, %b : tensor<2x4x12xf32>
  // CHECK: %[[PART:.*]] = llm.linear %{{.*}} (tensor<2x4x6xf32>, tensor<6x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: %[[Z:.*]] = llm.reduce_scatter %[[PART]] over ["tp"] {dimension = 1 : i64
  // CHECK: llm.add %[[D]], %[[Z]] : tensor<2x2x8xf32>
  %z = llm.linear %m, %down layout(in_out) : (tensor<2x4x12xf32>, tensor<12x8xf32>) -> !x
  %r = llm.add %d, %z : !x
  %y = llm.linear %r, %table layout(out_in) : (!x, tensor<12x8xf32>) -> tensor<2x4x12xf32>
  %loss, %l = llm.cross_entropy %y, %t : (tensor<2x4x12xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
