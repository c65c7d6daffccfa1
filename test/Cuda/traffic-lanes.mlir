// Lanes of a warp that go different ways: each is followed by itself, and accesses of one address meet where lanes run an op for the
// same time, whenever that is.
// RUN: llmmem-opt %s --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s

// Lane i reads numbers 0 to i - 1, at one time the same one as all others that are left.
// CHECK: triangle {{ *}}1 {{ *}}1 {{ *}}124 {{ *}}124 {{ *}}124 {{ *}}1.000{{$}}
// Lanes read one number, even ones in even turns and odd ones in odd turns: its n-th read is all lanes' n-th, of four.
// CHECK: turns {{ *}}1 {{ *}}1 {{ *}}16 {{ *}}4 {{ *}}4 {{ *}}1.000{{$}}
// Half of the lanes know their place, 64 bytes, and for each of the others data decides; ids are 64 bytes and 128.
// CHECK: half {{ *}}1 {{ *}}1 {{ *}}320 {{ *}}320 {{ *}}256 {{ *}}1.250 (data decides)
// 40 threads, so the second warp has eight lanes: 160 bytes, and a number for each warp.
// CHECK: partial {{ *}}1 {{ *}}1 {{ *}}168 {{ *}}164 {{ *}}164 {{ *}}1.000{{$}}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @triangle(%x: memref<32xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      scf.for %i = %c0 to %thread step %c1 {
        %place = arith.addi %block, %i : index
        %v = memref.load %x[%place] : memref<32xf32>
      }
      gpu.return
    }
    gpu.func @turns(%x: memref<32xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      scf.for %i = %c0 to %c8 step %c1 {
        %sum = arith.addi %i, %thread : index
        %odd = arith.remui %sum, %c2 : index
        %is = arith.cmpi eq, %odd, %c0 : index
        scf.if %is {
          %v = memref.load %x[%block] : memref<32xf32>
        }
      }
      gpu.return
    }
    gpu.func @half(%ids: memref<32xi32>, %x: memref<4096xf32>) kernel {
      %c16 = arith.constant 16 : index
      %thread = gpu.thread_id x
      %knows = arith.cmpi ult, %thread, %c16 : index
      %i = scf.if %knows -> index {
        scf.yield %thread : index
      } else {
        %id = memref.load %ids[%thread] : memref<32xi32>
        %there = arith.index_cast %id : i32 to index
        scf.yield %there : index
      }
      %v = memref.load %x[%i] : memref<4096xf32>
      %w = memref.load %ids[%thread] : memref<32xi32>
      gpu.return
    }
    gpu.func @partial(%x: memref<64xf32>) kernel {
      %c48 = arith.constant 48 : index
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %own = arith.addi %block, %thread : index
      %v = memref.load %x[%own] : memref<64xf32>
      %common = arith.addi %block, %c48 : index
      %w = memref.load %x[%common] : memref<64xf32>
      gpu.return
    }
  }
  func.func private @triangle(%x: memref<32xf32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@triangle blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<32xf32>)
    return
  }
  func.func private @turns(%x: memref<32xf32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@turns blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<32xf32>)
    return
  }
  func.func private @half(%ids: memref<32xi32>, %x: memref<4096xf32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@half blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%ids : memref<32xi32>, %x : memref<4096xf32>)
    return
  }
  func.func private @partial(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c40 = arith.constant 40 : index
    gpu.launch_func @kernels::@partial blocks in (%c1, %c1, %c1) threads in (%c40, %c1, %c1) args(%x : memref<64xf32>)
    return
  }
  func.func @step(%x: memref<32xf32>, %ids: memref<32xi32>, %y: memref<4096xf32>, %z: memref<64xf32>) {
    call @triangle(%x) : (memref<32xf32>) -> ()
    call @turns(%x) : (memref<32xf32>) -> ()
    call @half(%ids, %y) : (memref<32xi32>, memref<4096xf32>) -> ()
    call @partial(%z) : (memref<64xf32>) -> ()
    return
  }
}
