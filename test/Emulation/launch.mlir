// What no GPU runs is refused before a thread begins.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: launch.mlir:[[@LINE+14]]:5: error: kernel 'nothing': blocks of (64, 64, 1) threads, expected 1 to 1024 in all

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @nothing(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@nothing blocks in (%c1, %c1, %c1) threads in (%c64, %c64, %c1)
        args(%x : memref<64xf32>)
    return
  }
}
