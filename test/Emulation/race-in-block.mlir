// Each thread reads in global memory what its neighbour has written; with a barrier between that is in order.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
// RUN: sed "s|// then||" %s | llmmem-emulate | FileCheck %s --check-prefix=ORDERED
//
// CHECK: race-in-block.mlir:[[@LINE+13]]:12: error: kernel 'next', block (0, 0, 0), thread (1, 0, 0): reads byte 0 of argument 1, which thread (0, 0, 0) has written with no barrier between
// ORDERED: argument 2: 63 0 1 2 3 4

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @next(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %c63 = arith.constant 63 : index
      %before = arith.addi %i, %c63 : index
      %j = arith.andi %before, %c63 : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %y[%i] : memref<64xf32>
      // then gpu.barrier
      %w = memref.load %y[%j] : memref<64xf32>
      memref.store %w, %z[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@next blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>, %y : memref<64xf32>, %z : memref<64xf32>)
    return
  }
}
