// Half of the block goes home before the barrier.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: barrier-ended.mlir:[[@LINE+9]]:9: error: kernel 'part', block (0, 0, 0), thread (0, 0, 0): waits at a barrier that thread (32, 0, 0) does not reach: it has ended

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %c32 = arith.constant 32 : index
      %first = arith.cmpi ult, %i, %c32 : index
      scf.if %first {
        gpu.barrier
      }
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@part blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>)
    return
  }
}
