// What an op moves follows from its memory effects and what an index is from the ranges that ops infer: a masked access
// counts as any other, and a division that rounds up is followed.
// RUN: llmmem-opt %s --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s

// 32 threads read and write four numbers each.
// CHECK: masked {{ *}}1 {{ *}}1 {{ *}}1024 {{ *}}1024 {{ *}}1024 {{ *}}1.000{{$}}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @masked(%x: memref<128xf32>, %y: memref<128xf32>) kernel {
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %zero = arith.constant dense<0.0> : vector<4xf32>
      %mask = arith.constant dense<true> : vector<4xi1>
      %thread = gpu.thread_id x
      %twice = arith.muli %thread, %c8 : index
      %i = arith.ceildivui %twice, %c2 : index
      %v = vector.maskedload %x[%i], %mask, %zero : memref<128xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
      vector.maskedstore %y[%i], %mask, %v : memref<128xf32>, vector<4xi1>, vector<4xf32>
      gpu.return
    }
  }
  func.func private @masked(%x: memref<128xf32>, %y: memref<128xf32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@masked blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%x : memref<128xf32>, %y : memref<128xf32>)
    return
  }
  func.func @step(%x: memref<128xf32>, %y: memref<128xf32>) {
    call @masked(%x, %y) : (memref<128xf32>, memref<128xf32>) -> ()
    return
  }
}
