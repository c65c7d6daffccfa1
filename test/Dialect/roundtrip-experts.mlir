// The printed form of the ops of LlmExpertOps.td with each optional part parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @route(
// CHECK: llm.route %arg0 bias(%arg1) {factor = 2.500000e+00 : f64, logistic, normalized}
// CHECK-SAME: : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
func.func @route(%l: tensor<2x3x4xf32>, %b: tensor<4xf32>) {
  %w, %e, %lse = llm.route %l bias(%b) {logistic, normalized, factor = 2.5 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// CHECK-LABEL: func.func @places(
// CHECK: llm.assign_places %arg0 : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
// CHECK: llm.count_dropped %{{.*}} : tensor<2x3x2xi32> -> tensor<i32>
func.func @places(%e: tensor<2x3x2xi32>) {
  %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
  %d = llm.count_dropped %p : tensor<2x3x2xi32> -> tensor<i32>
  return
}

// CHECK-LABEL: func.func @exchange(
// CHECK: llm.dispatch %arg0, %arg1, %arg2 weights(%arg3)
// CHECK: llm.combine %{{.*}}, %arg1, %arg2
// CHECK-SAME: : (tensor<4x2x2x5xf32>, tensor<2x3x2xi32>, tensor<4x2x2xi32>) -> tensor<2x3x5xf32>
func.func @exchange(%x: tensor<2x3x5xf32>, %p: tensor<2x3x2xi32>, %c: tensor<4x2x2xi32>, %w: tensor<2x3x2xf32>) {
  %y = llm.dispatch %x, %p, %c weights(%w)
    : (tensor<2x3x5xf32>, tensor<2x3x2xi32>, tensor<4x2x2xi32>, tensor<2x3x2xf32>) -> tensor<4x2x2x5xf32>
  %z = llm.combine %y, %p, %c : (tensor<4x2x2x5xf32>, tensor<2x3x2xi32>, tensor<4x2x2xi32>) -> tensor<2x3x5xf32>
  return
}

// CHECK-LABEL: func.func @held(
// CHECK: llm.grouped_linear %arg0, %arg1 scales(%arg2) zeros(%arg3) layout(out_in)
// CHECK-SAME: : (tensor<3x2x64xf32>, tensor<3x5x64xi4>, tensor<3x5x2xf32>, tensor<3x5x2xi4>) -> tensor<3x2x5xf32>
func.func @held(%x: tensor<3x2x64xf32>, %w: tensor<3x5x64xi4>, %s: tensor<3x5x2xf32>, %z: tensor<3x5x2xi4>) {
  %y = llm.grouped_linear %x, %w scales(%s) zeros(%z) layout(out_in)
    : (tensor<3x2x64xf32>, tensor<3x5x64xi4>, tensor<3x5x2xf32>, tensor<3x5x2xi4>) -> tensor<3x2x5xf32>
  return
}

// CHECK-LABEL: func.func @chosen(
// CHECK: llm.grouped_linear %arg0, %arg1 scales(%arg2) choices(%arg3) layout(out_in)
// CHECK-SAME: : (tensor<3x2x64xf32>, tensor<3x5x64xi8>, tensor<3x5x2xf32>, tensor<3x2xi32>) -> tensor<3x2x5xf32>
// CHECK: llm.add_group_bias %{{.*}}, %arg4 choices(%arg3) : (tensor<3x2x5xf32>, tensor<3x5xf32>, tensor<3x2xi32>) -> tensor<3x2x5xf32>
func.func @chosen(%x: tensor<3x2x64xf32>, %w: tensor<3x5x64xi8>, %s: tensor<3x5x2xf32>, %c: tensor<3x2xi32>, %b: tensor<3x5xf32>) {
  %y = llm.grouped_linear %x, %w scales(%s) choices(%c) layout(out_in)
    : (tensor<3x2x64xf32>, tensor<3x5x64xi8>, tensor<3x5x2xf32>, tensor<3x2xi32>) -> tensor<3x2x5xf32>
  %z = llm.add_group_bias %y, %b choices(%c) : (tensor<3x2x5xf32>, tensor<3x5xf32>, tensor<3x2xi32>) -> tensor<3x2x5xf32>
  return
}

// CHECK-LABEL: func.func @products(
// CHECK: llm.grouped_linear %arg0, %arg1 layout(in_out) : (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> tensor<3x2x5xf32>
// CHECK: llm.grouped_weight_grad %arg0, %{{.*}} into(%arg1) layout(in_out)
func.func @products(%x: tensor<3x2x4xf32>, %w: tensor<3x4x5xf32>) {
  %y = llm.grouped_linear %x, %w layout(in_out) : (tensor<3x2x4xf32>, tensor<3x4x5xf32>) -> tensor<3x2x5xf32>
  %d = llm.grouped_weight_grad %x, %y into(%w) layout(in_out)
    : (tensor<3x2x4xf32>, tensor<3x2x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  return
}

// CHECK-LABEL: func.func @route_2(
// CHECK: llm.route %arg0 {group_best = 2 : i64, groups = 2 : i64} :
func.func @route_2(%l: tensor<2x3x4xf32>) {
  %w, %e, %lse = llm.route %l {kept_groups = 1 : i64, groups = 2 : i64, group_best = 2 : i64}
    : (tensor<2x3x4xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>)
  return
}

// CHECK-LABEL: func.func @biases(
// CHECK: llm.add_group_bias %arg0, %arg1 : (tensor<3x2x5xf32>, tensor<3x5xf32>) -> tensor<3x2x5xf32>
// CHECK: llm.sum_group_rows %{{.*}} into(%arg1) : (tensor<3x2x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
func.func @biases(%x: tensor<3x2x5xf32>, %b: tensor<3x5xf32>) {
  %y = llm.add_group_bias %x, %b : (tensor<3x2x5xf32>, tensor<3x5xf32>) -> tensor<3x2x5xf32>
  %d = llm.sum_group_rows %y into(%b) : (tensor<3x2x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}
