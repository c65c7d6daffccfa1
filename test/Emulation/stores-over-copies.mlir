// A block reads what a tensor map has copied, and stores over it: the memory of stages becomes that of sums.
//
// RUN: llmmem-emulate %s --print 32 | FileCheck %s
//
// Threads i and i + 16 read element 2 i of a matrix that counts. Each stores it 16 numbers further, and gets what another one has stored.
// CHECK: argument 1: 0 2 4 6 {{.*}} 28 30 0 2 4 6 {{.*}} 28 30{{$}}
//
// Other threads may still read, a thread has not waited for the copy, and what is stored is read with no barrier between:
// RUN: sed "/all have read/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=READ
// RUN: sed "/until it is full/d; /reads the copy/d; s|// nothing ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=COPY
// RUN: sed "/all have stored/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=STORED
// READ: error: kernel 'reuse', block (0, 0, 0), thread (16, 0, 0): writes byte 0 of shared memory, which may still be read: the thread has not waited for an mbarrier at which thread 0 of the block has arrived since it read
// READ: note: in memref.store
// READ: note: the copy of what is read: nvvm.cp.async.bulk.tensor.shared.cluster.global
// COPY: error: kernel 'reuse', block (0, 0, 0), thread (0, 0, 0): writes byte 64 of shared memory, to which a copy may still write: the thread has not waited for phase 0 of the mbarrier at byte 1024 of shared memory
// COPY: note: in memref.store
// COPY: note: the copy: nvvm.cp.async.bulk.tensor.shared.cluster.global
// STORED: error: kernel 'reuse', block (0, 0, 0), thread (16, 0, 0): writes byte 0 of shared memory, which may still be read: the thread has not waited for an mbarrier at which thread 0 of the block has

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reuse(%x: memref<512xbf16>, %y: memref<32xf32>) workgroup(%tile: memref<1152xi8, #gpu.address_space<workgroup>>) kernel {
      %i = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %at_full = arith.constant 1024 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %c16 = arith.constant 16 : index
      %threads = arith.constant 32 : index
      %bytes = arith.constant 1024 : i32
      %ns = arith.constant 1000 : i32
      %base = memref.extract_aligned_pointer_as_index %tile : memref<1152xi8, #gpu.address_space<workgroup>> -> index
      %of_full = arith.addi %base, %at_full : index
      %word_of_full = arith.index_cast %of_full : index to i64
      %full = llvm.inttoptr %word_of_full : i64 to !llvm.ptr<3>
      %word_of_tile = arith.index_cast %base : index to i64
      %here = llvm.inttoptr %word_of_tile : i64 to !llvm.ptr<3>
      %to = llvm.addrspacecast %here : !llvm.ptr<3> to !llvm.ptr<7>
      %matrix = memref.extract_aligned_pointer_as_index %x : memref<512xbf16> -> index
      %word_of_matrix = arith.index_cast %matrix : index to i64
      %map = llvm.call_intrinsic "llvm.llmmem.tensor.map.bf16"(%word_of_matrix) {map = array<i64: 0, 8, 64, 64, 8>} : (i64) -> !llvm.ptr
      %elements = memref.view %tile[%c0][] : memref<1152xi8, #gpu.address_space<workgroup>> to memref<512xbf16, #gpu.address_space<workgroup>>
      %sums = memref.view %tile[%c0][] : memref<1152xi8, #gpu.address_space<workgroup>> to memref<256xf32, #gpu.address_space<workgroup>>
      %copies = arith.cmpi eq, %i, %c0 : index
      scf.if %copies {
        nvvm.mbarrier.init %full, %one : !llvm.ptr<3>, i32
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      }
      gpu.barrier
      scf.if %copies {
        nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%zero, %zero] : !llvm.ptr<7>, !llvm.ptr
      }
      nvvm.mbarrier.try_wait.parity %full, %zero, %ns : !llvm.ptr<3>, i32, i32 // until it is full
      %number = arith.remui %i, %c16 : index
      %place = arith.muli %number, %c2 : index
      %further = arith.addi %i, %c16 : index
      %target = arith.remui %further, %threads : index
      // nothing %v = arith.constant 0.0 : bf16
      %v = memref.load %elements[%place] : memref<512xbf16, #gpu.address_space<workgroup>> // reads the copy
      %f = arith.extf %v : bf16 to f32
      gpu.barrier // all have read
      memref.store %f, %sums[%target] : memref<256xf32, #gpu.address_space<workgroup>>
      gpu.barrier // all have stored
      %w = memref.load %sums[%i] : memref<256xf32, #gpu.address_space<workgroup>>
      memref.store %w, %y[%i] : memref<32xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<512xbf16>, %y: memref<32xf32>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 32 : index
    gpu.launch_func @kernels::@reuse blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1) args(%x : memref<512xbf16>, %y : memref<32xf32>)
    return
  }
}
