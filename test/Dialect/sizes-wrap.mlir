// Products and sums of sizes that in 64 bits look like small ones.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

// 2^32 x (2^32 + 1) elements are 2^32.
func.func @f(%x: tensor<4294967296x4294967297xf32>) {
  // expected-error @below {{is a view of more than 2^63 elements; make the batch, the sequence or the vocabulary smaller}}
  %0 = llm.reshape %x : tensor<4294967296x4294967297xf32> -> tensor<4294967296xf32>
  return
}

// -----

// (2^62 + 1) rows of each of 4 ranks are 4 rows.
func.func @f(%x: tensor<4611686018427387905x4xf32>) attributes {llm.mesh = #llm.mesh<dp = 4>} {
  // expected-error @below {{brings dimension 0 of 4 ranks together to more than 2^63; make the dimension or the mesh smaller}}
  %0 = llm.all_to_all %x over ["dp"] {concat = 0 : i64, split = 1 : i64} : (tensor<4611686018427387905x4xf32>) -> tensor<4x1xf32>
  return
}

// -----

// Twice 2^63 - 1 columns, and 10, are 8.
func.func @f(%a: tensor<1x9223372036854775807xf32>, %b: tensor<1x10xf32>) {
  // expected-error @below {{has parts of more than 2^63 columns together; make them narrower}}
  %0 = llm.concat %a, %a, %b : (tensor<1x9223372036854775807xf32>, tensor<1x9223372036854775807xf32>, tensor<1x10xf32>) -> tensor<1x8xf32>
  return
}

// -----

// 2^34 positions of each of 2^30 ranks are none.
func.func @f(%x: tensor<1x17179869184x4xf32>, %t: tensor<1x4xf32>) attributes {llm.mesh = #llm.mesh<cp = 1073741824>} {
  // expected-error @below {{has more than 2^63 positions on all ranks together; make the sequence or the mesh smaller}}
  %0 = llm.add_positions %x, %t {axes = ["cp"]} : (tensor<1x17179869184x4xf32>, tensor<1x4xf32>) -> tensor<1x17179869184x4xf32>
  return
}

// -----

// A batch of (2^62 + 1) matrices 4 elements apart ends where the first does.
func.func @f(%x: memref<16xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has more than 2^63 elements of 'a' in a buffer of 16; make the batch, its stride or the pitch smaller}}
  llm.library_product %x[%c0], %x[%c0], %y[%c0]
    {rows = 4 : i64, columns = 4 : i64, inner = 4 : i64, batch = 4611686018427387905 : i64,
     a = #llm.matrix<pitch = 4, stride = 4>, b = #llm.matrix<pitch = 4>, c = #llm.matrix<pitch = 4>}
    : memref<16xf32>, memref<16xf32>, memref<16xf32>
  return
}

// -----

// The lower 64 bits of 2^65 + 256 are 256.
// expected-error @below {{'llm.arena'}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 36893488147419103488 : i128} {
  return %x : tensor<64xf32>
}

// -----

// A whole of 2^64 elements has none.
// expected-error @below {{'llm.whole' is tensor<4611686018427387904x4xf32>}}
func.func @step(%x: tensor<64xf32> {llm.whole = tensor<4611686018427387904x4xf32>}) -> tensor<64xf32> {
  return %x : tensor<64xf32>
}
