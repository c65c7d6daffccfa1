// wgmma is refused in a block of half a warpgroup.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: wgmma-missing.mlir:[[@LINE+8]]:15: error: kernel 'part', block (0, 0, 0), thread (0, 0, 0): waits for lanes 0 to 127 of its warpgroup, which has 64 lanes

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<256xf32>) kernel {
      %d = arith.constant 4611686293305360384 : i64
      %zeros = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
      nvvm.wgmma.fence.aligned
      %sums = nvvm.wgmma.mma_async %d, %d, %zeros, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
        : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
      gpu.return
    }
  }
  func.func @step(%x: memref<256xf32>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 64 : index
    gpu.launch_func @kernels::@part blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<256xf32>)
    return
  }
}
