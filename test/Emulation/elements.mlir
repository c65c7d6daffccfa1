// Threads read their ids, and each doubles one vector of four numbers; the grid has more threads than there is work.
//
// RUN: llmmem-emulate %s --print 20 | FileCheck %s
//
// CHECK: argument 0: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
// CHECK-NEXT: argument 1: 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: memref<20xf32>, %y: memref<20xf32>, %vectors: index) kernel {
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %size = gpu.block_dim x
      %c4 = arith.constant 4 : index
      %before = arith.muli %block, %size : index
      %number = arith.addi %before, %thread : index
      %has = arith.cmpi ult, %number, %vectors : index
      scf.if %has {
        %i = arith.muli %number, %c4 : index
        %v = vector.load %x[%i] : memref<20xf32>, vector<4xf32>
        %sum = arith.addf %v, %v : vector<4xf32>
        vector.store %sum, %y[%i] : memref<20xf32>, vector<4xf32>
      }
      gpu.return
    }
  }
  func.func @step(%x: memref<20xf32>, %y: memref<20xf32>) {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    gpu.launch_func @kernels::@double blocks in (%c3, %c1, %c1) threads in (%c3, %c1, %c1)
        args(%x : memref<20xf32>, %y : memref<20xf32>, %c5 : index)
    return
  }
}
