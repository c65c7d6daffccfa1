// A shuffle inside a branch that one lane does not take.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: shuffle-missing.mlir:[[@LINE+12]]:22: error: kernel 'part', block (0, 0, 0), thread (0, 0, 0): waits for lanes 0 to 31 of its warp, but lane 31 does not arrive: it has ended

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %c31 = arith.constant 31 : index
      %one = arith.constant 1 : i32
      %all = arith.constant 32 : i32
      %v = memref.load %x[%i] : memref<64xf32>
      %first = arith.cmpi ult, %i, %c31 : index
      scf.if %first {
        %w, %valid = gpu.shuffle xor %v, %one, %all : f32
        memref.store %w, %x[%i] : memref<64xf32>
      }
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@part blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<64xf32>)
    return
  }
}
