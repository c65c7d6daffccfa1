// A shuffle of 8 lanes is one of the first 8 lanes of the warp, as shfl.sync with their mask; the others must not come.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: shuffle-beyond-width.mlir:[[@LINE+9]]:20: error: kernel 'part', block (0, 0, 0), thread (8, 0, 0): is lane 8 of its warp and takes part in a shuffle of the first 8 lanes

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %one = arith.constant 1 : i32
      %some = arith.constant 8 : i32
      %v = memref.load %x[%i] : memref<64xf32>
      %w, %valid = gpu.shuffle xor %v, %one, %some : f32
      memref.store %w, %x[%i] : memref<64xf32>
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
