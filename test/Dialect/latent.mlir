// Latent rows: heads that have as many elements as the weight and the rows, values inside of a row, a scale a row.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error @below {{'x' has width 6, expected a multiple of 4 heads}}
  %0 = llm.head_linear %x, %w layout(in_out) {heads = 4 : i64, first = 0 : i64} : (tensor<2x1x6xf32>, tensor<10x4xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<11x4xf32>) {
  // expected-error @below {{'weight' has shape [11, 4], expected [rows of 2 heads, columns]}}
  %0 = llm.head_linear %x, %w layout(in_out) {heads = 2 : i64, first = 0 : i64} : (tensor<2x1x6xf32>, tensor<11x4xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error @below {{'weight' has 4 columns, expected 3, the elements of a head}}
  %0 = llm.head_linear %x, %w layout(out_in) {heads = 2 : i64, first = 0 : i64} : (tensor<2x1x6xf32>, tensor<10x4xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error @below {{reads 3 rows from row 3 on of the 5 that a head has}}
  %0 = llm.head_linear %x, %w layout(in_out) {heads = 2 : i64, first = 3 : i64} : (tensor<2x1x6xf32>, tensor<10x4xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error @below {{has 0 heads, expected at least one}}
  %0 = llm.head_linear %x, %w layout(in_out) {heads = 0 : i64, first = 0 : i64} : (tensor<2x1x6xf32>, tensor<10x4xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x1x6xf32>, %w: tensor<10x4xf32>) {
  // expected-error @below {{has [2, 1, 6] before the product and [1, 2, 8] after it: all dimensions except the last must agree}}
  %0 = llm.head_linear %x, %w layout(in_out) {heads = 2 : i64, first = 0 : i64} : (tensor<2x1x6xf32>, tensor<10x4xf32>) -> tensor<1x2x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x10xf32>, %r: tensor<2x1x6xf32>, %c: tensor<2x9x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'q' has shape [2, 1, 10], expected [2, 1, 12]}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x10xf32>, tensor<2x1x6xf32>, tensor<2x9x6xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xf32>, %c: tensor<2x9x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'out' has shape [2, 1, 12], expected [2, 1, 8]}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xf32>, tensor<2x9x6xf32>, tensor<2x1xi32>) -> tensor<2x1x12xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xf32>, %c: tensor<2x9x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{has values of 7 elements, expected 1 to the 6 of a row}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 2 : i64, rank = 7 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xf32>, tensor<2x9x6xf32>, tensor<2x1xi32>) -> tensor<2x1x14xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xf32>, %c: tensor<2x9x8xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'rows' has shape [2, 9, 8], expected [2, 9, 6]}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xf32>, tensor<2x9x8xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xi8>, %c: tensor<2x9x6xi8>, %p: tensor<2x1xi32>, %s: tensor<2x1x2xf32>, %t: tensor<2x9x2xf32>) {
  // expected-error @below {{'scales' of 'row' have 2 columns, expected one: a row is a group}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) scales(%s, %t) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xi8>, tensor<2x9x6xi8>, tensor<2x1xi32>, tensor<2x1x2xf32>, tensor<2x9x2xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xi8>, %c: tensor<2x9x6xi8>, %p: tensor<2x1xi32>, %s: tensor<2x1x1xf32>) {
  // expected-error @below {{has 1 scales, expected two: of 'row' and of 'rows'}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) scales(%s) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xi8>, tensor<2x9x6xi8>, tensor<2x1xi32>, tensor<2x1x1xf32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x12xf32>, %r: tensor<2x1x6xi8>, %c: tensor<2x9x6xi8>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'row' holds 'i8', whose groups have scales; add scales(%scales)}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 2 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x12xf32>, tensor<2x1x6xi8>, tensor<2x9x6xi8>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}

// -----

func.func @f(%r: tensor<2x3x6xf32>, %c: tensor<2x9x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{'positions' has shape [2, 1], expected [2, 3]}}
  %0 = llm.append_rows %c, %r at(%p) : (tensor<2x9x6xf32>, tensor<2x3x6xf32>, tensor<2x1xi32>) -> tensor<2x9x6xf32>
  return
}

// -----

func.func @f(%r: tensor<2x6xf32>, %c: tensor<2x9x6xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{needs 'row' as [batch, seq, width], and 'rows' as [batch, rows, width] or [pages, page, width]}}
  %0 = llm.append_rows %c, %r at(%p) : (tensor<2x9x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x9x6xf32>
  return
}

// -----

func.func @f(%r: tensor<2x3x6xf32>, %c: tensor<5x4x6xf32>, %p: tensor<2x3xi32>, %t: tensor<3x2xi32>) {
  // expected-error @below {{'table' has shape [3, 2], expected [2, pages of a sequence]}}
  %0 = llm.append_rows %c, %r at(%p) pages(%t) : (tensor<5x4x6xf32>, tensor<2x3x6xf32>, tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<5x4x6xf32>
  return
}

// -----

func.func @f(%q: tensor<2x1x1099511627776xf32>, %r: tensor<2x1x16777216xf32>, %c: tensor<2x9x16777216xf32>, %p: tensor<2x1xi32>) {
  // expected-error @below {{has 1099511627776 heads of rows of 16777216 elements, more than 2^63 together; make the heads fewer or the rows shorter}}
  %0 = llm.latent_attention %q, %r cache(%c) at(%p) {heads = 1099511627776 : i64, rank = 4 : i64, scale = 1.0 : f64}
    : (tensor<2x1x1099511627776xf32>, tensor<2x1x16777216xf32>, tensor<2x9x16777216xf32>, tensor<2x1xi32>) -> tensor<2x1x8xf32>
  return
}
