// What passes between the launches of one op is no part of its least bytes, but of theirs: 256 numbers are read and one is written, 1028
// bytes, and four sums are written to the workspace and read again, 32 bytes.
// RUN: llmmem-opt %s --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s

// CHECK: summed {{ *}}1 {{ *}}2 {{ *}}1060 {{ *}}1060 {{ *}}1028 {{ *}}1.031
// CHECK-NEXT: parts {{ *}}1 {{ *}}1040 {{ *}}1040 {{ *}}1040 {{ *}}1.000
// CHECK-NEXT: all {{ *}}1 {{ *}}20 {{ *}}20 {{ *}}20 {{ *}}1.000
// CHECK-NEXT: all calls of 1 kernels: 1060 bytes moved, least 1028
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @parts(%x: memref<256xf32>, %sums: memref<4xf32>) kernel {
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %begin = arith.muli %block, %c64 : index
      %end = arith.addi %begin, %c64 : index
      %sum = scf.for %i = %begin to %end step %c1 iter_args(%before = %zero) -> (f32) {
        %v = memref.load %x[%i] : memref<256xf32>
        %next = arith.addf %before, %v : f32
        scf.yield %next : f32
      }
      memref.store %sum, %sums[%block] : memref<4xf32>
      gpu.return
    }
    gpu.func @all(%sums: memref<4xf32>, %y: memref<1xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%before = %zero) -> (f32) {
        %v = memref.load %sums[%i] : memref<4xf32>
        %next = arith.addf %before, %v : f32
        scf.yield %next : f32
      }
      memref.store %sum, %y[%c0] : memref<1xf32>
      gpu.return
    }
  }
  func.func private @summed(%x: memref<256xf32>, %y: memref<1xf32>, %workspace: memref<16xi8>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %sums = memref.view %workspace[%c0][] : memref<16xi8> to memref<4xf32>
    gpu.launch_func @kernels::@parts blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<256xf32>, %sums : memref<4xf32>)
    gpu.launch_func @kernels::@all blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%sums : memref<4xf32>, %y : memref<1xf32>)
    return
  }
  func.func @step(%x: memref<256xf32>, %y: memref<1xf32>, %arena: memref<16xi8>) {
    call @summed(%x, %y, %arena) {llm.values = array<i64: 0, 1, 2>, llm.workspace = array<i64: 0, 16>, llm.writes = array<i64: 1, 2>}
      : (memref<256xf32>, memref<1xf32>, memref<16xi8>) -> ()
    return
  }
}
