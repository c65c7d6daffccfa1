// What a library is asked for, as a kernel that the emulator can watch: a sum for each element of C, the epilogue on what is
// not rounded yet, aux before it, and all of the workspace written to. Whoever makes the first element
// of a row or column of C also sums what it multiplied, where that is asked for.
//
// RUN: llmmem-opt --launch-library-products %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @activation(
// CHECK-SAME: %[[X:.*]]: memref<32xbf16>, %[[W:.*]]: memref<64xbf16>, %[[Y:.*]]: memref<32xbf16>, %[[B:.*]]: memref<8xbf16>, %[[H:.*]]: memref<32xbf16>, %[[S:.*]]: memref<256xi8>)
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %[[S]]
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: memref.load %[[X]]
// CHECK: memref.load %[[W]]
// CHECK: math.fma
// CHECK: memref.load %[[B]]
// CHECK: %[[AUX:.*]] = arith.truncf %[[UNROUNDED:.*]] : f32 to bf16
// CHECK: memref.store %[[AUX]], %[[H]]
// CHECK: arith.mulf %[[UNROUNDED]], %[[UNROUNDED]]
// CHECK: math.tanh
// CHECK: memref.store %{{.*}}, %[[Y]]
func.func @activation(%x: memref<32xbf16>, %w: memref<64xbf16>, %y: memref<32xbf16>, %b: memref<8xbf16>, %h: memref<32xbf16>, %s: memref<256xi8>) {
  %c0 = arith.constant 0 : index
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<8xbf16>) aux(%h : memref<32xbf16>) workspace(%s : memref<256xi8>)
    {rows = 4 : i64, columns = 8 : i64, inner = 8 : i64, a = #llm.matrix<pitch = 8>, b = #llm.matrix<pitch = 8>, c = #llm.matrix<pitch = 8>,
     epilogue = 3 : i64} : memref<32xbf16>, memref<64xbf16>, memref<32xbf16>
  return
}

// -----

// CHECK-LABEL: func.func @sum_of_a(
// CHECK-SAME: %[[X:.*]]: memref<32xf32>, %[[W:.*]]: memref<64xf32>, %[[Y:.*]]: memref<32xf32>, %[[B:.*]]: memref<4xf32>)
// CHECK-NOT: memref.load %[[B]]
// CHECK: math.fma
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.if
// CHECK: %[[SUM:.*]] = scf.for
// CHECK-NEXT: arith
// CHECK-NOT: memref.load %[[W]]
// CHECK: %[[TERM:.*]] = memref.load %[[X]]
// CHECK-NEXT: arith.addf %{{.*}}, %[[TERM]]
// CHECK: memref.store %[[SUM]], %[[B]]
func.func @sum_of_a(%x: memref<32xf32>, %w: memref<64xf32>, %y: memref<32xf32>, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<4xf32>)
    {rows = 4 : i64, columns = 8 : i64, inner = 8 : i64, a = #llm.matrix<pitch = 8>, b = #llm.matrix<pitch = 8>, c = #llm.matrix<pitch = 8>,
     epilogue = 7 : i64} : memref<32xf32>, memref<64xf32>, memref<32xf32>
  return
}

// -----

// CHECK-LABEL: func.func @sum_of_b(
// CHECK-SAME: %[[X:.*]]: memref<32xbf16>, %[[W:.*]]: memref<64xbf16>, %[[Y:.*]]: memref<32xbf16>, %[[B:.*]]: memref<8xbf16>)
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.if
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: memref.load %[[W]]
// CHECK: arith.addf
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: memref.store %[[ROUNDED]], %[[B]]
func.func @sum_of_b(%x: memref<32xbf16>, %w: memref<64xbf16>, %y: memref<32xbf16>, %b: memref<8xbf16>) {
  %c0 = arith.constant 0 : index
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<8xbf16>)
    {rows = 4 : i64, columns = 8 : i64, inner = 8 : i64, a = #llm.matrix<pitch = 8>, b = #llm.matrix<pitch = 8>, c = #llm.matrix<pitch = 8>,
     epilogue = 6 : i64} : memref<32xbf16>, memref<64xbf16>, memref<32xbf16>
  return
}

// -----

func.func @sum_of_c(%x: memref<32xf32>, %w: memref<64xf32>, %y: memref<32xf32>, %b: memref<8xf32>, %h: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has the epilogue 'gelu_grad_sum', which the emulator does not support}}
  llm.library_product %x[%c0], %w[%c0], %y[%c0] bias(%b : memref<8xf32>) aux(%h : memref<32xf32>)
    {rows = 4 : i64, columns = 8 : i64, inner = 8 : i64, a = #llm.matrix<pitch = 8>, b = #llm.matrix<pitch = 8>, c = #llm.matrix<pitch = 8>,
     epilogue = 5 : i64} : memref<32xf32>, memref<64xf32>, memref<32xf32>
  return
}
