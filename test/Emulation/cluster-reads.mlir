// Blocks of a cluster read each other's shared memory, between two barriers of the cluster: before the first the other block may not have
// written, nor begun; after the second it may have ended, or overwrite what is read.
//
// RUN: llmmem-emulate %s --print 128 | FileCheck %s
//
// Two clusters of two blocks of 32 threads: each block reads what the other one of its cluster has written.
// CHECK: argument 1: 32 33 34{{.*}} 62 63 0 1 2{{.*}} 30 31 96 97 98{{.*}} 126 127 64 65 66{{.*}} 94 95{{$}}
//
// No barrier before the read, one of the block alone, and one that lies before the write:
// RUN: sed "/have written/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEGUN
// RUN: sed "s/nvvm.cluster.arrive.*have written/gpu.barrier/; /have written/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEGUN
// RUN: sed "/have written/d; s|// early ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// BEGUN: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): reads byte 0 of the shared memory of block (1, 0, 0), which may not have begun: no barrier of the cluster lies before the access
// BEGUN: note: in %{{.*}} = llvm.load
// UNWRITTEN: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): reads byte 0 of the shared memory of block (1, 0, 0), which no block of the cluster has written
//
// The other block writes it again with no barrier of the cluster between, in either order of the two:
// RUN: sed "s|// again ||; /have read/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: sed "s|// before ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEFORE
// AGAIN: error: kernel 'swap', block (1, 0, 0), thread (0, 0, 0): reads byte 0 of the shared memory of block (0, 0, 0), which thread (0, 0, 0) of block (0, 0, 0) has written with no barrier of the cluster between
// AGAIN: note: in %{{.*}} = llvm.load
// BEFORE: error: kernel 'swap', block (1, 0, 0), thread (0, 0, 0): writes byte 0 of shared memory, which thread (0, 0, 0) of block (0, 0, 0) has read with no barrier of the cluster between
// BEFORE: note: in memref.store
//
// No barrier between the read and the end of the other block:
// RUN: sed "/have read/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ENDED
// ENDED: error: kernel 'swap', block (1, 0, 0), thread (0, 0, 0): accesses the shared memory of block (0, 0, 0), which may have ended: no barrier of the cluster lies between the access and the end of the kernel
// ENDED: note: in %{{.*}} = llvm.load
//
// A block that its cluster does not have, a place beyond the shared memory, and an odd one:
// RUN: sed "s/%%one = arith.constant 1/%%one = arith.constant 2/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: sed "s/%%c4 = arith.constant 4/%%c4 = arith.constant 256/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: sed "s/%%c4 = arith.constant 4/%%c4 = arith.constant 2/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ODD
// RANK: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): names block 2 of its cluster, which has 2
// BEYOND: error: kernel 'swap', block (0, 0, 0), thread (1, 0, 0): uses 4 bytes at byte 256 of shared memory, which has 256
// ODD: error: kernel 'swap', block (0, 0, 0), thread (1, 0, 0): accesses 4 bytes at byte 2 of shared memory: the address is not a multiple of 4

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @swap(%x: memref<128xf32>, %y: memref<128xf32>)
        workgroup(%tile: memref<32xf32, #gpu.address_space<workgroup>>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
      %i = gpu.thread_id x
      %block = gpu.block_id x
      %threads = arith.constant 32 : index
      %c4 = arith.constant 4 : index
      %one = arith.constant 1 : i32
      %first = arith.muli %block, %threads : index
      %own = arith.addi %first, %i : index
      %v = memref.load %x[%own] : memref<128xf32>
      // early nvvm.cluster.arrive {aligned}
      // early nvvm.cluster.wait {aligned}
      memref.store %v, %tile[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      nvvm.cluster.arrive {aligned} // all have written
      nvvm.cluster.wait {aligned} // all have written
      // before memref.store %v, %tile[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %other = arith.xori %rank, %one : i32
      %begin = memref.extract_aligned_pointer_as_index %tile : memref<32xf32, #gpu.address_space<workgroup>> -> index
      %offset = arith.muli %i, %c4 : index
      %place = arith.addi %begin, %offset : index
      %word = arith.index_cast %place : index to i64
      %here = llvm.inttoptr %word : i64 to !llvm.ptr<3>
      %there = nvvm.mapa %here, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %w = llvm.load %there {alignment = 4 : i64} : !llvm.ptr<7> -> f32
      // again memref.store %v, %tile[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      nvvm.cluster.arrive {aligned} // all have read
      nvvm.cluster.wait {aligned} // all have read
      memref.store %w, %y[%own] : memref<128xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<128xf32>, %y: memref<128xf32>) {
    %c1 = arith.constant 1 : index
    %blocks = arith.constant 4 : index
    %threads = arith.constant 32 : index
    gpu.launch_func @kernels::@swap blocks in (%blocks, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<128xf32>, %y : memref<128xf32>)
    return
  }
}
