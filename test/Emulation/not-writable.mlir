// The call says that it writes its first buffer alone.
//
// RUN: not llmmem-emulate %s 2>&1 | FileCheck %s
//
// CHECK: not-writable.mlir:[[@LINE+7]]:7: error: kernel 'copy_kernel', block (0, 0, 0), thread (0, 0, 0): writes argument 1, which the call does not list in 'writes'

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy_kernel(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<8xf32>
      memref.store %v, %y[%i] : memref<8xf32>
      gpu.return
    }
  }
  func.func private @copy(%x: memref<8xf32>, %y: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @kernels::@copy_kernel blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%x : memref<8xf32>, %y : memref<8xf32>)
    return
  }
  func.func @step(%arena: memref<64xi8>, %x: memref<8xf32>, %y: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %a = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
    %b = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
    %c = memref.view %arena[%c32][] : memref<64xi8> to memref<8xf32>
    call @copy(%x, %y) {llm.values = array<i64: 0, 1>, llm.writes = array<i64: 0>} : (memref<8xf32>, memref<8xf32>) -> ()
    return
  }
}
