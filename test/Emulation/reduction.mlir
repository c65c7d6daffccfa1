// Sums over a warp, and over eight of its lanes.
//
// RUN: llmmem-emulate %s --print 10 | FileCheck %s
//
// CHECK: argument 1: 496 496 496
// CHECK-NEXT: argument 2: 28 28 28 28 28 28 28 28 92 92

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @sums(%x: memref<32xf32>, %y: memref<32xf32>, %z: memref<32xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<32xf32>
      %sum = gpu.subgroup_reduce add %v : (f32) -> f32
      memref.store %sum, %y[%i] : memref<32xf32>
      %part = gpu.subgroup_reduce add %v cluster(size = 8) : (f32) -> f32
      memref.store %part, %z[%i] : memref<32xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<32xf32>, %y: memref<32xf32>, %z: memref<32xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@sums blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xf32>, %y : memref<32xf32>, %z : memref<32xf32>)
    return
  }
}
