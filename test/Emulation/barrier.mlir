// Two warps turn their numbers round in shared memory, twice.
//
// RUN: llmmem-emulate %s --print 64 | FileCheck %s
//
// CHECK: argument 0: 0 1 2 3
// CHECK-NEXT: argument 1: 126 124 122 120{{.*}} 6 4 2 0{{$}}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @turn(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %c63 = arith.constant 63 : index
      %j = arith.subi %c63, %i : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %tile[%j] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %sum = arith.addf %w, %w : f32
      memref.store %sum, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %r = memref.load %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %r, %y[%i] : memref<64xf32>
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
