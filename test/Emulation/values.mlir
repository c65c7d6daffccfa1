// Values take over the bytes of dead ones, and stand in place of each other, as a plan has it.
//
// RUN: llmmem-emulate %s | FileCheck %s
//
// CHECK: argument 2: 0 1 2 3 4 5 6 7

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
    call @copy(%x, %a) {llm.values = array<i64: 0, 2>, llm.writes = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> ()
    call @copy(%a, %c) {llm.values = array<i64: 2, 3>, llm.writes = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> ()
    call @copy(%c, %c) {llm.values = array<i64: 3, 4>, llm.writes = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> ()
    call @copy(%c, %a) {llm.values = array<i64: 4, 5>, llm.writes = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> ()
    call @copy(%a, %y) {llm.values = array<i64: 5, 1>, llm.writes = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> ()
    return
  }
}
