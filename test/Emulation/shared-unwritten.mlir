// Shared memory holds nothing at first: the last thread has no tile to read.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: shared-unwritten.mlir:[[@LINE+11]]:12: error: kernel 'next', block (0, 0, 0), thread (63, 0, 0): reads byte 256 of shared memory, which this block has not written

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @next(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%tile: memref<65xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %one = arith.constant 1 : index
      %j = arith.addi %i, %one : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %tile[%i] : memref<65xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %tile[%j] : memref<65xf32, #gpu.address_space<workgroup>>
      memref.store %w, %y[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@next blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>, %y : memref<64xf32>)
    return
  }
}
