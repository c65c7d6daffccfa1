// What is no feed-forward stays: a wide value that something else reads, dropout inside, a projection that does not widen, a weight in
// fewer bits, a gate and its values that one product writes.
// RUN: llmmem-opt %s --group-feed-forward --split-input-file | FileCheck %s --implicit-check-not=llm.tiled

// CHECK-LABEL: func.func @read(
func.func @read(%x: tensor<16x4xf32>, %w: tensor<4x12xf32>, %v: tensor<12x4xf32>) -> (tensor<16x4xf32>, tensor<16x12xf32>) {
  %u = llm.linear %x, %w layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
  %g = llm.gelu %u : tensor<16x12xf32>
  %y = llm.linear %g, %v layout(in_out) : (tensor<16x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32>
  return %y, %g : tensor<16x4xf32>, tensor<16x12xf32>
}

// -----

// CHECK-LABEL: func.func @dropout(
func.func @dropout(%x: tensor<16x4xf32>, %w: tensor<4x12xf32>, %v: tensor<12x4xf32>, %s: tensor<2xi32>) -> tensor<16x4xf32> {
  %u = llm.linear %x, %w layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
  %g = llm.dropout %u, %s {p = 0.1 : f64, key = 0 : i64} : tensor<16x12xf32>, tensor<2xi32>
  %y = llm.linear %g, %v layout(in_out) : (tensor<16x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}

// -----

// CHECK-LABEL: func.func @narrow(
func.func @narrow(%x: tensor<16x12xf32>, %w: tensor<12x4xf32>, %v: tensor<4x12xf32>) -> tensor<16x12xf32> {
  %u = llm.linear %x, %w layout(in_out) : (tensor<16x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32>
  %y = llm.linear %u, %v layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
  return %y : tensor<16x12xf32>
}

// -----

// CHECK-LABEL: func.func @held(
func.func @held(%x: tensor<16x32xf32>, %w: tensor<96x32xi8>, %c: tensor<96x1xf32>, %v: tensor<32x96xf32>) -> tensor<16x32xf32> {
  %u = llm.linear %x, %w scales(%c) layout(out_in) : (tensor<16x32xf32>, tensor<96x32xi8>, tensor<96x1xf32>) -> tensor<16x96xf32>
  %y = llm.linear %u, %v layout(out_in) : (tensor<16x96xf32>, tensor<32x96xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

// -----

// CHECK-LABEL: func.func @split(
func.func @split(%x: tensor<16x4xf32>, %w: tensor<4x24xf32>, %v: tensor<12x4xf32>) -> tensor<16x4xf32> {
  %u = llm.linear %x, %w layout(in_out) : (tensor<16x4xf32>, tensor<4x24xf32>) -> tensor<16x24xf32>
  %g:2 = llm.split %u : (tensor<16x24xf32>) -> (tensor<16x12xf32>, tensor<16x12xf32>)
  %a = llm.silu %g#0 : tensor<16x12xf32>
  %h = llm.mul %a, %g#1 : tensor<16x12xf32>
  %y = llm.linear %h, %v layout(in_out) : (tensor<16x12xf32>, tensor<12x4xf32>) -> tensor<16x4xf32>
  return %y : tensor<16x4xf32>
}
