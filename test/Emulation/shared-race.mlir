// The barrier between the store and the load is missing.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: shared-race.mlir:[[@LINE+14]]:14: error: kernel 'turn', block (0, 0, 0), thread (32, 0, 0): reads byte 124 of shared memory, which thread (31, 0, 0) has written with no barrier between
// CHECK: note: in %{{.*}} = memref.load

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @turn(%x: memref<64xf32>, %y: memref<64xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %c63 = arith.constant 63 : index
      %v = memref.load %x[%i] : memref<64xf32>
      %j = arith.subi %c63, %i : index
      memref.store %v, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      %c31 = arith.constant 31 : index
      %late = arith.cmpi ugt, %i, %c31 : index
      scf.if %late {
        %w = memref.load %tile[%j] : memref<64xf32, #gpu.address_space<workgroup>>
        memref.store %w, %y[%i] : memref<64xf32>
      }
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
