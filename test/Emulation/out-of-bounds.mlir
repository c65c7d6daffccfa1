// The mask is off by one: the thread after the last element reads beyond its buffer.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: out-of-bounds.mlir:[[@LINE+15]]:14: error: kernel 'copy', block (2, 0, 0), thread (4, 0, 0): reads 2 bytes at byte 40 of argument 0, which has 40
// CHECK: note: in %{{.*}} = memref.load %arg0[%{{.*}}] : memref<20xbf16>
// CHECK-NOT: argument 1:

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy(%x: memref<20xbf16>, %y: memref<24xbf16>) kernel {
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %c8 = arith.constant 8 : index
      %c20 = arith.constant 20 : index
      %before = arith.muli %block, %c8 : index
      %i = arith.addi %before, %thread : index
      %has = arith.cmpi ule, %i, %c20 : index
      scf.if %has {
        %v = memref.load %x[%i] : memref<20xbf16>
        memref.store %v, %y[%i] : memref<24xbf16>
      }
      gpu.return
    }
  }
  func.func @step(%x: memref<20xbf16>, %y: memref<24xbf16>) {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @kernels::@copy blocks in (%c3, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%x : memref<20xbf16>, %y : memref<24xbf16>)
    return
  }
}
