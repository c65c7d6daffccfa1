// An adapter next to a product that tp splits along its outputs: its second factor is split like that product, and its first stays
// whole, so that nothing of the product's width is summed. Weights that are rounded where they are read are weights, too: with sequence
// parallelism positions are gathered, not they.
// RUN: llmmem-opt "--parallelize=mesh=tp=2 sequence-parallel=true" %s | FileCheck %s

!x = tensor<2x4x8xf32>
// CHECK: %[[A:[^ ]*]]: tensor<2x8xf32> {llm.name = "a", llm.role = "param"}
func.func @loss(%ids: tensor<2x4xi32> {llm.role = "input"}, %t: tensor<2x4xi32> {llm.role = "input"},
                %table: tensor<12x8xf32> {llm.role = "param", llm.name = "table"}, %up: tensor<12x8xf64> {llm.role = "param", llm.name = "up"},
                %a: tensor<2x8xf32> {llm.role = "param", llm.name = "a"}, %b: tensor<12x2xf32> {llm.role = "param", llm.name = "b"},
                %down: tensor<8x12xf32> {llm.role = "param", llm.name = "down"}) -> tensor<f32> {
  // CHECK: %[[E:.*]] = llm.reduce_scatter
  %e = llm.embedding %ids, %table : (tensor<2x4xi32>, tensor<12x8xf32>) -> !x
  // CHECK: %[[ALL:.*]] = llm.all_gather %[[E]] over ["tp"] {dimension = 1 : i64
  // CHECK: %[[BASE:.*]] = llm.linear %[[ALL]], %{{.*}} -> tensor<2x4x6xf32>
  %rounded = llm.cast %up : tensor<12x8xf64> -> tensor<12x8xf32>
  %base = llm.linear %e, %rounded layout(out_in) : (!x, tensor<12x8xf32>) -> tensor<2x4x12xf32>
  // CHECK: %[[OWN:.*]] = llm.replica %[[A]] over ["tp"]
  // CHECK: %[[R:.*]] = llm.linear %[[E]], %[[OWN]] layout(out_in) : (tensor<2x2x8xf32>, tensor<2x8xf32>) -> tensor<2x2x2xf32>
  %r = llm.linear %e, %a layout(out_in) : (!x, tensor<2x8xf32>) -> tensor<2x4x2xf32>
  // CHECK: %[[POSITIONS:.*]] = llm.all_gather %[[R]] over ["tp"] {dimension = 1 : i64
  // CHECK: %[[MORE:.*]] = llm.linear %[[POSITIONS]], %{{.*}} -> tensor<2x4x6xf32>
  %more = llm.linear %r, %b layout(out_in) : (tensor<2x4x2xf32>, tensor<12x2xf32>) -> tensor<2x4x12xf32>
  // CHECK: llm.add %[[BASE]], %[[MORE]] : tensor<2x4x6xf32>
  %h = llm.add %base, %more : tensor<2x4x12xf32>
  %z = llm.linear %h, %down layout(out_in) : (tensor<2x4x12xf32>, tensor<8x12xf32>) -> !x
  %y = llm.linear %z, %table layout(out_in) : (!x, tensor<12x8xf32>) -> tensor<2x4x12xf32>
  %loss, %l = llm.cross_entropy %y, %t : (tensor<2x4x12xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
