// A barrier of the warp orders what its lanes do; lanes of other warps need the barrier of the block.
//
// RUN: llmmem-emulate %s --print 64 | FileCheck %s
// RUN: sed "s/constant 31/constant 63/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=OTHER
//
// CHECK: argument 1: 31 30 29{{.*}} 1 0 63 62 61{{.*}} 34 33 32{{$}}
//
// OTHER: error: kernel 'turn', block (0, 0, 0), thread (0, 0, 0): reads byte 252 of shared memory, which this block has not written

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @turn(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %flip = arith.constant 31 : index
      %all = arith.constant -1 : i32
      %j = arith.xori %i, %flip : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      nvvm.bar.warp.sync %all : i32
      %w = memref.load %tile[%j] : memref<64xf32, #gpu.address_space<workgroup>>
      nvvm.bar.warp.sync %all : i32
      memref.store %w, %tile[%j] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %w, %y[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@turn blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>, %y : memref<64xf32>)
    return
  }
}
