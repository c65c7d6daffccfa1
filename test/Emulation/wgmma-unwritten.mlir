// A wgmma of shared memory that nothing wrote is a fault.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: wgmma-unwritten.mlir:[[@LINE+15]]:15: error: kernel 'part', block (0, 0, 0), thread (0, 0, 0): reads byte 0 of shared memory, which this block has not written

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<256xf32>) workgroup(%tile: memref<4096xbf16, #gpu.address_space<workgroup>>) kernel {
      %zeros = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
      nvvm.wgmma.fence.aligned
      %place = memref.extract_aligned_pointer_as_index %tile : memref<4096xbf16, #gpu.address_space<workgroup>> -> index
      %address = arith.index_cast %place : index to i64
      %c262143 = arith.constant 262143 : i64
      %c4 = arith.constant 4 : i64
      %low = arith.andi %address, %c262143 : i64
      %field = arith.shrui %low, %c4 : i64
      %layout = arith.constant 4611686293305360384 : i64
      %d = arith.ori %field, %layout : i64
      %sums = nvvm.wgmma.mma_async %d, %d, %zeros, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
        : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
      gpu.return
    }
  }
  func.func @step(%x: memref<256xf32>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 128 : index
    gpu.launch_func @kernels::@part blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<256xf32>)
    return
  }
}
