// ZeRO-3: a parameter is its part, gathered before its first reader; where the ranks do not divide its rows, parts are equal
// shares of its elements.
// RUN: llmmem-opt "--parallelize=mesh=dp=2 zero=3" %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<4x4xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 3>, llm.name = "w", llm.role = "param", llm.shard = ["dp"], llm.whole = tensor<8x4xf32>}
// CHECK-SAME: tensor<1x6xf32> {llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 3>, llm.name = "v", llm.role = "param", llm.shard = ["dp"], llm.whole = tensor<3x4xf32>}
// CHECK-SAME: tensor<4xf32> {{{.*}}llm.name = "unread"
func.func @loss(%x: tensor<6x4xf32> {llm.role = "input"}, %w: tensor<8x4xf32> {llm.name = "w", llm.role = "param"},
                %v: tensor<3x4xf32> {llm.name = "v", llm.role = "param"}, %u: tensor<4xf32> {llm.name = "unread", llm.role = "param"})
    -> (tensor<6x8xf32>, tensor<6x3xf32>) {
  // CHECK-NEXT: %[[X:.*]] = llm.gelu
  // CHECK-NEXT: %[[W:.*]] = llm.all_gather %arg1 over ["dp"] {dimension = 0 : i64, llm.block = 2 : i64, llm.name = "w.gathered"} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: llm.linear %[[X]], %[[W]]
  // CHECK-NEXT: %[[ALL:.*]] = llm.all_gather %arg2 over ["dp"] {dimension = 0 : i64, llm.name = "v.gathered"} : (tensor<1x6xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %[[V:.*]] = llm.reshape %[[ALL]] {llm.name = "v.gathered"} : tensor<2x6xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: llm.linear %[[X]], %[[V]]
  %g = llm.gelu %x : tensor<6x4xf32>
  %y = llm.linear %g, %w layout(out_in) {llm.block = 2 : i64} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %z = llm.linear %g, %v layout(out_in) : (tensor<6x4xf32>, tensor<3x4xf32>) -> tensor<6x3xf32>
  return %y, %z : tensor<6x8xf32>, tensor<6x3xf32>
}
