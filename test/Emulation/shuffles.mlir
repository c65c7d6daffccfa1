// Shuffles work in all modes, over types of 16, 32 and 64 bits and vectors. Lanes that ask beyond the warp keep their own value, and are
// told so.
//
// RUN: llmmem-emulate %s --print 32 | FileCheck %s
//
// CHECK: argument 0: 1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14 17 16 19 18 21 20 23 22 25 24 27 26 29 28 31 30
// CHECK-NEXT: argument 1: 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 -28 -29 -30 -31
// CHECK-NEXT: argument 2: 0 1 2 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
// CHECK-NEXT: argument 3: 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7
// CHECK-NEXT: argument 4: 32 33 34 35 36 37

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @shuffles(%a: memref<32xbf16>, %b: memref<32xi32>, %c: memref<32xf64>, %d: memref<32xf32>, %e: memref<64xbf16>) kernel {
      %i = gpu.thread_id x
      %i1 = arith.constant 1 : i32
      %i3 = arith.constant 3 : i32
      %i4 = arith.constant 4 : i32
      %i7 = arith.constant 7 : i32
      %i16 = arith.constant 16 : i32
      %all = arith.constant 32 : i32
      %two = arith.constant 2 : index
      %zero = arith.constant 0 : i32
      %a0 = memref.load %a[%i] : memref<32xbf16>
      %a1, %a2 = gpu.shuffle xor %a0, %i1, %all : bf16
      memref.store %a1, %a[%i] : memref<32xbf16>
      %b0 = memref.load %b[%i] : memref<32xi32>
      %b1, %b2 = gpu.shuffle down %b0, %i4, %all : i32
      %b3 = arith.subi %zero, %b1 : i32
      %b4 = arith.select %b2, %b1, %b3 : i32
      memref.store %b4, %b[%i] : memref<32xi32>
      %c0 = memref.load %c[%i] : memref<32xf64>
      %c3, %c4 = gpu.shuffle up %c0, %i3, %all : f64
      memref.store %c3, %c[%i] : memref<32xf64>
      %d0 = memref.load %d[%i] : memref<32xf32>
      %d1, %d2 = gpu.shuffle idx %d0, %i7, %all : f32
      memref.store %d1, %d[%i] : memref<32xf32>
      %j = arith.muli %i, %two : index
      %e0 = vector.load %e[%j] : memref<64xbf16>, vector<2xbf16>
      %e1, %e2 = gpu.shuffle xor %e0, %i16, %all : vector<2xbf16>
      vector.store %e1, %e[%j] : memref<64xbf16>, vector<2xbf16>
      gpu.return
    }
  }
  func.func @step(%a: memref<32xbf16>, %b: memref<32xi32>, %c: memref<32xf64>, %d: memref<32xf32>, %e: memref<64xbf16>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@shuffles blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%a : memref<32xbf16>, %b : memref<32xi32>, %c : memref<32xf64>, %d : memref<32xf32>, %e : memref<64xbf16>)
    return
  }
}
