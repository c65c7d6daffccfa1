// Ops that go through their rows in chunks: a chunk is whole accumulation tiles or all rows, and the body has only ops of which a row
// reads that row, or sums over all rows that leave it.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @example(
// CHECK: llm.tiled(%[[X:.*]] = %arg0, %[[W:.*]] = %arg1, %[[V:.*]] = %arg2)
// CHECK-SAME: : (tensor<2x8x4xf32>, tensor<4x12xf32>, tensor<12x4xf32>) -> tensor<2x8x4xf32> {
// CHECK-NEXT: %[[U:.*]] = llm.linear %[[X]], %[[W]] layout(in_out)
// CHECK-NEXT: %[[G:.*]] = llm.gelu %[[U]]
// CHECK-NEXT: %[[D:.*]] = llm.linear %[[G]], %[[V]] layout(in_out)
// CHECK-NEXT: llm.tiled_yield %[[D]]
// CHECK-NEXT: } attributes {chunk = 8 : i64, granule = 4 : i64}
func.func @example(%x: tensor<2x8x4xf32>, %w: tensor<4x12xf32>, %v: tensor<12x4xf32>) {
  %y = llm.tiled(%a = %x, %b = %w, %c = %v) : (tensor<2x8x4xf32>, tensor<4x12xf32>, tensor<12x4xf32>) -> tensor<2x8x4xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<2x8x4xf32>, tensor<4x12xf32>) -> tensor<2x8x12xf32>
    %g = llm.gelu %u : tensor<2x8x12xf32>
    %d = llm.linear %g, %c layout(in_out) : (tensor<2x8x12xf32>, tensor<12x4xf32>) -> tensor<2x8x4xf32>
    llm.tiled_yield %d : tensor<2x8x4xf32>
  } attributes {chunk = 8 : i64, granule = 4 : i64}
  return
}

// -----

func.func @chunk(%x: tensor<16x4xf32>, %w: tensor<4x12xf32>) {
  // expected-error @+1 {{has a chunk of 6 rows, expected a multiple of 4, or all 16}}
  %y = llm.tiled(%a = %x, %b = %w) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
    llm.tiled_yield %u : tensor<16x12xf32>
  } attributes {chunk = 6 : i64, granule = 4 : i64}
  return
}

// -----

func.func @granule(%x: tensor<16x4xf32>, %w: tensor<4x12xf32>) {
  // expected-error @+1 {{has an accumulation tile ('granule') of 0 rows, expected at least 1}}
  %y = llm.tiled(%a = %x, %b = %w) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
    llm.tiled_yield %u : tensor<16x12xf32>
  } attributes {chunk = 16 : i64, granule = 0 : i64}
  return
}

// -----

// A norm reads whole rows, and its statistics are a second result.
func.func @norm(%x: tensor<16x4xf32>, %n: tensor<12xf32>, %w: tensor<4x12xf32>) {
  %y = llm.tiled(%a = %x, %m = %n, %b = %w) : (tensor<16x4xf32>, tensor<12xf32>, tensor<4x12xf32>) -> tensor<16x12xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
    // expected-error @+1 {{cannot run over a chunk of rows after another; expected llm.linear without scales, an elementwise op without random numbers, llm.linear_weight_grad or llm.sum_rows}}
    %o, %r = llm.rms_norm %u, %m {eps = 1.0e-5 : f64} : (tensor<16x12xf32>, tensor<12xf32>) -> (tensor<16x12xf32>, tensor<16xf32>)
    llm.tiled_yield %o : tensor<16x12xf32>
  } attributes {chunk = 16 : i64}
  return
}

// -----

// A weight that the body computes would be there after the last chunk alone.
func.func @weight(%x: tensor<16x12xf32>, %w: tensor<12x16xf32>) {
  %y = llm.tiled(%a = %x, %b = %w) : (tensor<16x12xf32>, tensor<12x16xf32>) -> tensor<16x16xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<16x12xf32>, tensor<12x16xf32>) -> tensor<16x16xf32>
    // expected-error @+1 {{reads operand 1 as a whole; expected an operand of llm.tiled}}
    %v = llm.linear %u, %u layout(in_out) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    llm.tiled_yield %v : tensor<16x16xf32>
  } attributes {chunk = 16 : i64}
  return
}

// -----

func.func @rows(%x: tensor<16x4xf32>, %z: tensor<8x4xf32>, %w: tensor<4x12xf32>) {
  %y:2 = llm.tiled(%a = %x, %c = %z, %b = %w)
      : (tensor<16x4xf32>, tensor<8x4xf32>, tensor<4x12xf32>) -> (tensor<16x12xf32>, tensor<8x12xf32>) {
    %u = llm.linear %a, %b layout(in_out) : (tensor<16x4xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
    // expected-error @+1 {{reads 8 rows, and the first product of llm.tiled has 16}}
    %v = llm.linear %c, %b layout(in_out) : (tensor<8x4xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
    llm.tiled_yield %u, %v : tensor<16x12xf32>, tensor<8x12xf32>
  } attributes {chunk = 16 : i64}
  return
}

// -----

func.func @sum(%x: tensor<12x12xf32>, %w: tensor<12x12xf32>) {
  %y = llm.tiled(%a = %x, %b = %w) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32> {
    %u = llm.linear %a, %b layout(in_out) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    // expected-error @+1 {{is a sum over all rows, which is complete after the last chunk alone; expected it to leave the body}}
    %s = llm.linear_weight_grad %a, %u layout(in_out) : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %g = llm.gelu %s : tensor<12x12xf32>
    llm.tiled_yield %g : tensor<12x12xf32>
  } attributes {chunk = 12 : i64}
  return
}

// -----

func.func @nothing(%x: tensor<16x4xf32>) {
  // expected-error @+1 {{has no llm.linear; expected the products of a feed-forward}}
  %y = llm.tiled(%a = %x) : (tensor<16x4xf32>) -> tensor<16x4xf32> {
    %u = llm.gelu %a : tensor<16x4xf32>
    llm.tiled_yield %u : tensor<16x4xf32>
  } attributes {chunk = 16 : i64}
  return
}
