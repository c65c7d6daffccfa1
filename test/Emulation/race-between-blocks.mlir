// Two blocks write one element. They run one after the other here, and side by side on a GPU.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: race-between-blocks.mlir:[[@LINE+7]]:7: error: kernel 'copy', block (1, 0, 0), thread (0, 0, 0): writes byte 0 of argument 1, which thread (0, 0, 0) of block (0, 0, 0) has written in the same launch

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %y[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@copy blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<64xf32>, %y : memref<64xf32>)
    return
  }
}
