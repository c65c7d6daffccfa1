// ld.global.v4.b32 wants a multiple of 16 bytes; element 2 of f32 is at byte 8.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: misaligned.mlir:[[@LINE+7]]:12: error: kernel 'shift', block (0, 0, 0), thread (1, 0, 0): reads 16 bytes at byte 8 of argument 0: the address is not a multiple of 16

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @shift(%x: memref<16xf32>, %y: memref<16xf32>) kernel {
      %thread = gpu.thread_id x
      %i = arith.addi %thread, %thread : index
      %v = vector.load %x[%i] : memref<16xf32>, vector<4xf32>
      vector.store %v, %y[%i] : memref<16xf32>, vector<4xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<16xf32>, %y: memref<16xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    gpu.launch_func @kernels::@shift blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
        args(%x : memref<16xf32>, %y : memref<16xf32>)
    return
  }
}
