// A table is part of the kernel.
//
// RUN: llmmem-emulate %s --print 4 | FileCheck %s
// RUN: sed "s/threads in (%c2/threads in (%c32/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEYOND
//
// CHECK: argument 0: 5 7 2 3
//
// BEYOND: error: kernel 'look', block (0, 0, 0), thread (2, 0, 0): reads 4 bytes at byte 8 of a constant table, which has 8

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" constant @table : memref<2xf32> = dense<[5.0, 7.0]>
    gpu.func @look(%y: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %table = memref.get_global @table : memref<2xf32>
      %v = memref.load %table[%i] : memref<2xf32>
      memref.store %v, %y[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@look blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
        args(%y : memref<64xf32>)
    return
  }
}
