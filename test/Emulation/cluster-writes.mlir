// A block writes 16 bytes at a time to the shared memory of the next block of its cluster, which is ordered by barriers of the cluster
// alone; it may also copy there what is still read, or still copied to.
//
// RUN: llmmem-emulate %s --print 128 | FileCheck %s
//
// Four blocks of eight threads, each of which has the numbers of the block before.
// CHECK: argument 1: 96 97 98{{.*}} 126 127 0 1 2{{.*}} 94 95{{$}}
//
// Before the other block has begun; read with no barrier of the cluster after the write, or one of the block; and the end of the other block:
// RUN: sed "/all have begun/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEGUN
// RUN: sed "/all have written/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// RUN: sed "/all have written/d; s|// own ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: sed "s/nvvm.cluster.arrive.*have written/gpu.barrier/; /all have written/d; s|// own ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: sed "/all have written/d; s|^ *%%w = .*$||; s|%%w,|%%v,|" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ENDED
// BEGUN: error: kernel 'pass', block (0, 0, 0), thread (0, 0, 0): writes byte 0 of the shared memory of block (1, 0, 0), which may not have begun: no barrier of the cluster lies before the access
// UNWRITTEN: error: kernel 'pass', block (0, 0, 0), thread (0, 0, 0): reads byte 0 of shared memory, which this block has not written
// OWN: error: kernel 'pass', block (1, 0, 0), thread (0, 0, 0): writes byte 0 of shared memory, which thread (0, 0, 0) of block (0, 0, 0) has written with no barrier of the cluster between
// OWN: note: in vector.store
// ENDED: error: kernel 'pass', block (3, 0, 0), thread (0, 0, 0): accesses the shared memory of block (0, 0, 0), which may have ended: no barrier of the cluster lies between the access and the end of the kernel
// ENDED: note: in llvm.store
//
// To what another block's copy still writes:
// RUN: sed "s|// copy ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=COPY
// COPY: error: kernel 'pass', block (3, 0, 0), thread (0, 0, 0): writes byte 0 of the shared memory of block (0, 0, 0), to which thread (0, 0, 0) of that block copies: it has not waited for the copy's group
// COPY: note: the copy: %{{.*}} = nvgpu.device_async_copy

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @pass(%x: memref<128xf32>, %y: memref<128xf32>)
        workgroup(%tile: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %block = gpu.block_id x
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %first = arith.muli %block, %c32 : index
      %at = arith.muli %i, %c4 : index
      %own = arith.addi %first, %at : index
      %v = vector.load %x[%own] : memref<128xf32>, vector<4xf32>
      nvvm.cluster.arrive {aligned, llm.cluster_blocks = 4 : i32} // all have begun
      nvvm.cluster.wait {aligned} // all have begun
      // own vector.store %v, %tile[%at] : memref<32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %is_first = arith.cmpi eq, %rank, %zero : i32
      scf.if %is_first {
        // copy nvgpu.device_async_copy %x[%own], %tile[%at], 4 : memref<128xf32> to memref<32xf32, #gpu.address_space<workgroup>>
      }
      %after = arith.addi %rank, %one : i32
      %next = arith.andi %after, %three : i32
      %begin = memref.extract_aligned_pointer_as_index %tile : memref<32xf32, #gpu.address_space<workgroup>> -> index
      %offset = arith.muli %i, %c16 : index
      %place = arith.addi %begin, %offset : index
      %word = arith.index_cast %place : index to i64
      %here = llvm.inttoptr %word : i64 to !llvm.ptr<3>
      %there = nvvm.mapa %here, %next : !llvm.ptr<3> -> !llvm.ptr<7>
      llvm.store %v, %there {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<7>
      nvvm.cluster.arrive {aligned, llm.cluster_blocks = 4 : i32} // all have written
      nvvm.cluster.wait {aligned} // all have written
      %w = vector.load %tile[%at] : memref<32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      vector.store %w, %y[%own] : memref<128xf32>, vector<4xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<128xf32>, %y: memref<128xf32>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %threads = arith.constant 8 : index
    gpu.launch_func @kernels::@pass blocks in (%c4, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<128xf32>, %y : memref<128xf32>)
    return
  }
}
