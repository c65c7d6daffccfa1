// A write beyond one tile of shared memory lands in the next one, inside the block's bytes: a fault all the same.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: out-of-view.mlir:[[@LINE+10]]:7: error: kernel 'tiles', block (0, 0, 0), thread (8, 0, 0): writes 4 bytes at byte 32 of a part of shared memory that has 32

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @tiles(%x: memref<16xf32>) kernel {
      %thread = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %all = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %a = memref.view %all[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
      %v = memref.load %x[%thread] : memref<16xf32>
      memref.store %v, %a[%thread] : memref<8xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
  func.func @step(%x: memref<16xf32>) {
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %bytes = arith.constant 64 : i32
    gpu.launch_func @kernels::@tiles blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%x : memref<16xf32>)
    return
  }
}
