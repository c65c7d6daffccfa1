// Over ep a rank has its experts, and all_to_all brings them the rows of all ranks' tokens, and back. The table of choices, which
// says which rows are empty, takes the same way. Places are counted where the tokens are; the router is what it is over dp.
// RUN: llmmem-opt --parallelize=mesh=dp=2,ep=2 %s | FileCheck %s
// RUN: llmmem-opt "--parallelize=mesh=dp=2,ep=2 zero=3" %s | FileCheck %s --check-prefix=PARTS

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<1x6x8xf32> {{{[^}]*}}llm.role = "input", llm.shard = ["dp", "ep"], llm.whole = tensor<4x6x8xf32>}
// CHECK-SAME: tensor<4x8xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp", "ep"], zero = 0{{[^}]*}}llm.name = "router"
// CHECK-SAME: tensor<2x8x8xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 0{{[^}]*}}llm.name = "experts", llm.role = "param", llm.sharding = #llm.sharding<dimensions = {{\[}}["ep"], [], []]>, llm.whole = tensor<4x8x8xf32>}
//
// Each group of ranks has its parts: a quarter of the router, and half of a rank's experts.
// PARTS-LABEL: func.func @loss(
// PARTS-SAME: tensor<1x8xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp", "ep"], zero = 3{{[^}]*}}llm.name = "router"
// PARTS-SAME: tensor<1x8x8xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 3{{[^}]*}}llm.name = "experts"
// PARTS-DAG: llm.all_gather %{{.*}} over ["dp", "ep"] {{.*}} : (tensor<1x8xf32>) -> tensor<4x8xf32>
// PARTS-DAG: llm.all_gather %{{.*}} over ["dp"] {{.*}} : (tensor<1x8x8xf32>) -> tensor<2x8x8xf32>
func.func @loss(%x: tensor<4x6x8xf32> {llm.name = "x", llm.role = "input"},
                %router: tensor<4x8xf32> {llm.name = "router", llm.role = "param"},
                %experts: tensor<4x8x8xf32> {llm.name = "experts", llm.role = "param"}) -> tensor<4x6x8xf32> {
  %logits = llm.linear %x, %router layout(out_in) : (tensor<4x6x8xf32>, tensor<4x8xf32>) -> tensor<4x6x4xf32>
  %weights, %chosen, %lse = llm.route %logits : (tensor<4x6x4xf32>) -> (tensor<4x6x2xf32>, tensor<4x6x2xi32>, tensor<4x6xf32>)
  // CHECK: %{{.*}}, %[[CHOICES:.*]] = llm.assign_places {{.*}} : tensor<1x6x2xi32> -> (tensor<1x6x2xi32>, tensor<4x1x3xi32>)
  %places, %choices = llm.assign_places %chosen : tensor<4x6x2xi32> -> (tensor<4x6x2xi32>, tensor<4x4x3xi32>)
  // CHECK: %[[SENT:.*]] = llm.dispatch {{.*}} -> tensor<4x1x3x8xf32>
  %sent = llm.dispatch %x, %places, %choices : (tensor<4x6x8xf32>, tensor<4x6x2xi32>, tensor<4x4x3xi32>) -> tensor<4x4x3x8xf32>
  // CHECK: %[[ROWS:.*]] = llm.all_to_all %[[SENT]] over ["ep"] {concat = 1 : i64, {{.*}}split = 0 : i64} : (tensor<4x1x3x8xf32>) -> tensor<2x2x3x8xf32>
  // CHECK: %[[TABLE:.*]] = llm.all_to_all %[[CHOICES]] over ["ep"] {concat = 1 : i64, {{.*}}split = 0 : i64} : (tensor<4x1x3xi32>) -> tensor<2x2x3xi32>
  // CHECK: %[[UP:.*]] = llm.grouped_linear %[[ROWS]], {{.*}} choices(%[[TABLE]])
  %up = llm.grouped_linear %sent, %experts choices(%choices) layout(out_in)
    : (tensor<4x4x3x8xf32>, tensor<4x8x8xf32>, tensor<4x4x3xi32>) -> tensor<4x4x3x8xf32>
  // The rows and the table arrive once for all products.
  // CHECK-NOT: llm.all_to_all
  // CHECK: %[[DOWN:.*]] = llm.grouped_linear %[[UP]], {{.*}} choices(%[[TABLE]])
  %down = llm.grouped_linear %up, %experts choices(%choices) layout(out_in)
    : (tensor<4x4x3x8xf32>, tensor<4x8x8xf32>, tensor<4x4x3xi32>) -> tensor<4x4x3x8xf32>
  // CHECK: %[[BACK:.*]] = llm.all_to_all %[[DOWN]] over ["ep"] {concat = 0 : i64, {{.*}}split = 1 : i64} : (tensor<2x2x3x8xf32>) -> tensor<4x1x3x8xf32>
  // CHECK: llm.combine %[[BACK]], {{.*}} -> tensor<1x6x8xf32>
  %y = llm.combine %down, %places, %choices weights(%weights)
    : (tensor<4x4x3x8xf32>, tensor<4x6x2xi32>, tensor<4x4x3xi32>, tensor<4x6x2xf32>) -> tensor<4x6x8xf32>
  return %y : tensor<4x6x8xf32>
}
