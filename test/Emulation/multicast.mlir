// Two blocks of a cluster share a tile of 16 rows: each copies half of it to both (multicast), twice into the same place. A block's
// `full` counts the bytes of both halves, its `empty` the readers of both blocks.
//
// RUN: llmmem-emulate %s --print 128 | FileCheck %s
//
// Thread i of either block reads half of a row in both rounds, and stores its first element.
// CHECK: argument 1: 0 32 80 112 32 64 112 16 64 32 16 112 96 64 48 16 64 96 16 48 96 0 48 80 0 96 80 48 32 0 112 80 0 32 {{.*}} 32 0 112 80{{$}}
//
// Without the wait for the copies, and without the one for the readers of the round before:
// RUN: sed "/until it is full/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: sed "/until it is empty/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=EMPTY
// FULL: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): reads byte 0 of shared memory, to which a copy may still write: the thread has not waited for phase 0 of the mbarrier at byte 2048 of shared memory
// FULL: note: in %{{.*}} = vector.load
// FULL: note: the copy: nvvm.cp.async.bulk.tensor.shared.cluster.global
// EMPTY: error: kernel 'share', block ({{[01]}}, 0, 0), thread (0, 0, 0): copies to byte {{[0-9]+}} of the shared memory of block {{[01]}} of its cluster, {{to which another copy may still write|which may still be read}}: the copying thread has not waited for
// EMPTY: note: in nvvm.cp.async.bulk.tensor.shared.cluster.global
//
// A block waits for its own readers alone: those of the other block may still read.
// RUN: sed "s/arith.constant 64 : i32/arith.constant 32 : i32/; /nvvm.mapa/d; /read here too/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: error: kernel 'share', block ({{[01]}}, 0, 0), thread (0, 0, 0): copies to byte {{[0-9]+}} of the shared memory of block {{[01]}} of its cluster, {{to which another copy may still write|which may still be read}}
//
// Readers do not tell the other block, and the copy of one block does not reach the other: nothing ends the phase.
// RUN: sed "/nvvm.mapa/d; /read here too/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed "s/multicast_mask = %%both/multicast_mask = %%self/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=HALF
// ALONE: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): waits for the mbarrier at byte 2056 of shared memory, and nothing ends its phase 0: 32 of 64 arrivals and 0 bytes of copies are missing
// HALF: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): waits for the mbarrier at byte 2048 of shared memory, and nothing ends its phase 0: 0 of 1 arrivals and 1024 bytes of copies are missing
//
// The bytes of one half are expected, so the phase ends with that:
// RUN: sed "s/arith.constant 2048 : i32/arith.constant 1024 : i32/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: kernel 'share', block (0, 0, 0), thread (16, 0, 0): reads byte 1024 of shared memory, which this block has not written
//
// The other block may not have begun, not know of the mbarriers, or have ended:
// RUN: sed "/all have begun/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEGUN
// RUN: sed "s/nvvm.cluster.arrive.*all have begun/gpu.barrier/; /all have begun/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BEGUN
// RUN: sed "/fence.mbarrier.init/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=FENCE
// RUN: sed "/may end/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ENDED
// BEGUN: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): reaches the shared memory of block (1, 0, 0), which may not have begun: no barrier of the cluster lies before it
// BEGUN: note: in nvvm.cp.async.bulk.tensor.shared.cluster.global
// FENCE: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): uses the mbarrier at byte 2048 of the shared memory of block 1 of its cluster, which was made with no fence.mbarrier.init after it
// ENDED: error: kernel 'share', block ({{[01]}}, 0, 0), thread ({{[0-9]+}}, 0, 0): accesses the shared memory of block ({{[01]}}, 0, 0), which may have ended: no barrier of the cluster lies between the access and the end of the kernel
//
// A block ends while the other's half may still be on its way to it: it does not wait for the last round's copies.
// RUN: sed "s|// last ||" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): ends while a copy may still write to its shared memory: no thread has waited for phase 2 of the mbarrier at byte 2048 of shared memory
//
// A block that the cluster does not have:
// RUN: sed "s/arith.constant 3 : i16/arith.constant 7 : i16/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: kernel 'share', block (0, 0, 0), thread (0, 0, 0): names block 2 of its cluster, which has 2

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @share(%x: memref<3456xbf16>, %y: memref<128xbf16>)
        workgroup(%tile: memref<2304xi8, #gpu.address_space<workgroup>>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
      %i = gpu.thread_id x
      %block = gpu.block_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c1024 = arith.constant 1024 : index
      %at_full = arith.constant 2048 : index
      %at_empty = arith.constant 2056 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %readers = arith.constant 64 : i32
      %bytes = arith.constant 2048 : i32
      %ns = arith.constant 1000 : i32
      %both = arith.constant 3 : i16
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %other = arith.xori %rank, %one : i32
      %bit = arith.shli %one, %rank : i32
      %self = arith.trunci %bit : i32 to i16
      %half = arith.index_cast %rank : i32 to index
      %base = memref.extract_aligned_pointer_as_index %tile : memref<2304xi8, #gpu.address_space<workgroup>> -> index
      %of_full = arith.addi %base, %at_full : index
      %word_of_full = arith.index_cast %of_full : index to i64
      %full = llvm.inttoptr %word_of_full : i64 to !llvm.ptr<3>
      %of_empty = arith.addi %base, %at_empty : index
      %word_of_empty = arith.index_cast %of_empty : index to i64
      %empty = llvm.inttoptr %word_of_empty : i64 to !llvm.ptr<3>
      %peers = nvvm.mapa %empty, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %part = arith.muli %half, %c1024 : index
      %of_part = arith.addi %base, %part : index
      %word_of_part = arith.index_cast %of_part : index to i64
      %here = llvm.inttoptr %word_of_part : i64 to !llvm.ptr<3>
      %to = llvm.addrspacecast %here : !llvm.ptr<3> to !llvm.ptr<7>
      %matrix = memref.extract_aligned_pointer_as_index %x : memref<3456xbf16> -> index
      %word_of_matrix = arith.index_cast %matrix : index to i64
      %map = llvm.call_intrinsic "llvm.llmmem.tensor.map.bf16"(%word_of_matrix) {map = array<i64: 0, 48, 64, 72, 8>} : (i64) -> !llvm.ptr
      %elements = memref.view %tile[%c0][] : memref<2304xi8, #gpu.address_space<workgroup>> to memref<1024xbf16, #gpu.address_space<workgroup>>
      %copies = arith.cmpi eq, %i, %c0 : index
      scf.if %copies {
        nvvm.mbarrier.init %full, %one : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %empty, %readers : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      }
      nvvm.cluster.arrive {aligned} // all have begun
      nvvm.cluster.wait {aligned} // all have begun
      scf.for %round = %c0 to %c2 step %c1 {
        %odd = arith.remui %round, %c2 : index
        %parity = arith.index_cast %odd : index to i32
        %before = arith.xori %parity, %one : i32
        %first = arith.muli %round, %c16 : index
        %own = arith.muli %half, %c8 : index
        %row_index = arith.addi %first, %own : index
        %row = arith.index_cast %row_index : index to i32
        scf.if %copies {
          nvvm.mbarrier.try_wait.parity %empty, %before, %ns : !llvm.ptr<3>, i32, i32 // until it is empty
          nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
          nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%zero, %row] multicast_mask = %both : !llvm.ptr<7>, !llvm.ptr
        }
        nvvm.mbarrier.try_wait.parity %full, %parity, %ns : !llvm.ptr<3>, i32, i32 // until it is full
        %place = arith.muli %i, %c32 : index
        %all = vector.load %elements[%place] : memref<1024xbf16, #gpu.address_space<workgroup>>, vector<32xbf16>
        %v = vector.extract %all[0] : bf16 from vector<32xbf16>
        %ofBlock = arith.muli %block, %c64 : index
        %ofRound = arith.muli %round, %c32 : index
        %begin = arith.addi %ofBlock, %ofRound : index
        %target = arith.addi %begin, %i : index
        memref.store %v, %y[%target] : memref<128xbf16>
        nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
        nvvm.mbarrier.arrive %peers : !llvm.ptr<7> // read here too
      }
      // last nvvm.cluster.arrive {aligned}
      // last nvvm.cluster.wait {aligned}
      // last scf.if %copies { nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 nvvm.mbarrier.try_wait.parity %empty, %one, %ns : !llvm.ptr<3>, i32, i32 nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %full, box[%zero, %zero] multicast_mask = %both : !llvm.ptr<7>, !llvm.ptr }
      nvvm.cluster.arrive {aligned} // it may end
      nvvm.cluster.wait {aligned} // it may end
      gpu.return
    }
  }
  func.func @step(%x: memref<3456xbf16>, %y: memref<128xbf16>) {
    %c1 = arith.constant 1 : index
    %blocks = arith.constant 2 : index
    %threads = arith.constant 32 : index
    gpu.launch_func @kernels::@share blocks in (%blocks, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<3456xbf16>, %y : memref<128xbf16>)
    return
  }
}
