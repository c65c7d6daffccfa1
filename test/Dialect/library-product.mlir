// What the host asks of a GPU's library of products is printed, parsed again, and refused where matrices do not fit.
// RUN: llmmem-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @product(
// CHECK: llm.library_product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] bias(%{{.*}} : memref<96xbf16>) workspace(%{{.*}} : memref<4096xi8>)
// CHECK-SAME: a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>, c = #llm.matrix<pitch = 96>
// CHECK-SAME: epilogue = 1 : i64
func.func @product(%x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12288xbf16>, %b: memref<96xbf16>, %s: memref<4096xi8>) {
  %c0 = arith.constant 0 : index
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<96xbf16>) workspace(%s : memref<4096xi8>)
    {rows = 128 : i64, columns = 96 : i64, inner = 64 : i64, a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>,
     c = #llm.matrix<pitch = 96>, epilogue = 1 : i64} : memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>
  return
}

// CHECK-LABEL: func.func @batch(
// CHECK: initial(%{{.*}}[%{{.*}}] : memref<1024xf32>)
// CHECK-SAME: a = #llm.matrix<pitch = 16, transposed = true, stride = 128, alignment = 64>
func.func @batch(%x: memref<512xf32>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  llm.library_product %x[%c0], %x[%c0], %y[%c0] initial(%y[%c0] : memref<1024xf32>)
    {rows = 16 : i64, columns = 16 : i64, inner = 8 : i64, batch = 4 : i64, scale = 0.5 : f64,
     a = #llm.matrix<pitch = 16, transposed = true, stride = 128, alignment = 64>, b = #llm.matrix<pitch = 16>,
     c = #llm.matrix<pitch = 16, stride = 256>, initial = #llm.matrix<pitch = 16, stride = 256>}
    : memref<512xf32>, memref<512xf32>, memref<1024xf32>
  return
}

// -----

func.func @beyond(%x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12287xbf16>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has 12288 elements of 'c' in a buffer of 12287}}
  llm.library_product %x[%c0], %w[%c0], %y[%c0]
    {rows = 128 : i64, columns = 96 : i64, inner = 64 : i64, a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>,
     c = #llm.matrix<pitch = 96>} : memref<8192xbf16>, memref<6144xbf16>, memref<12287xbf16>
  return
}

// -----

func.func @pitch(%x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12288xbf16>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has rows of 64 in 'b', but a pitch of 63 and a stride of 0}}
  llm.library_product %x[%c0], %w[%c0], %y[%c0]
    {rows = 128 : i64, columns = 96 : i64, inner = 64 : i64, a = #llm.matrix<pitch = 64>,
     b = #llm.matrix<pitch = 63, transposed = true>, c = #llm.matrix<pitch = 96>}
    : memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>
  return
}

// -----

func.func @types(%x: memref<8192xf32>, %w: memref<6144xf32>, %y: memref<12288xbf16>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{multiplies 'f32' by 'f32' to 'bf16'; expected bf16 by bf16, or f32 by f32 to f32}}
  llm.library_product %x[%c0], %w[%c0], %y[%c0]
    {rows = 128 : i64, columns = 96 : i64, inner = 64 : i64, a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>,
     c = #llm.matrix<pitch = 96>} : memref<8192xf32>, memref<6144xf32>, memref<12288xbf16>
  return
}

// -----

func.func @epilogue(%x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12288xbf16>, %b: memref<96xbf16>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{with the epilogue 'gelu_aux_bias' needs a 'bias' and an 'aux'}}
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<96xbf16>)
    {rows = 128 : i64, columns = 96 : i64, inner = 64 : i64, a = #llm.matrix<pitch = 64>, b = #llm.matrix<pitch = 96>,
     c = #llm.matrix<pitch = 96>, epilogue = 3 : i64} : memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>
  return
}

// -----

func.func @attribute(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{'llm.library_workspace' is 256 : i64, expected a multiple of 256 on an op that multiplies matrices}}
  %y = llm.gelu %x {llm.library_workspace = 256 : i64} : tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

func.func @kernel(%x: tensor<64x16xf32>, %w: tensor<16x32xf32>) -> tensor<64x32xf32> {
  // expected-error @+1 {{'llm.library_workspace' is 256 : i64, expected a multiple of 256 on an op that multiplies matrices}}
  %y = llm.kernel(%i = %x, %m = %w) : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32> {
    %p = llm.linear %i, %m layout(in_out) : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
    %s = llm.silu %p : tensor<64x32xf32>
    llm.yield %s : tensor<64x32xf32>
  } attributes {llm.library_workspace = 256 : i64}
  return %y : tensor<64x32xf32>
}
