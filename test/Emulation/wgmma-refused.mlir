// A wgmma that subtracts from its sums is refused.
//
// RUN: llmmem-opt --emulate-gpu-kernels --verify-diagnostics %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @part(%x: memref<256xf32>) kernel {
      %d = arith.constant 4611686293305360384 : i64
      %zeros = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
      nvvm.wgmma.fence.aligned
      // expected-error @+1 {{'nvvm.wgmma.mma_async' op is a wgmma that the emulator does not support; expected m64nNk16 of bf16 or f16 that adds to N / 2 numbers of f32, without signs}}
      %sums = nvvm.wgmma.mma_async %d, %d, %zeros, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <neg>, <row>], B[<bf16>, <one>, <col>]
        : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
      gpu.return
    }
  }
  func.func @step(%x: memref<256xf32>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 128 : index
    gpu.launch_func @kernels::@part blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<256xf32>)
    return
  }
}
