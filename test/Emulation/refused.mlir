// What docs/Design/Gpu.md does not let a kernel hold.
//
// RUN: llmmem-opt --emulate-gpu-kernels --verify-diagnostics %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @atomics(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<64xf32>
      // expected-error @+1 {{'memref.atomic_rmw' op is not allowed in a kernel that is emulated}}
      %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<64xf32>) -> f32
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@atomics blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>)
    return
  }
}
