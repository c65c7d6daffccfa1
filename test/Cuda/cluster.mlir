// Clusters: the kernel's clusters have the size that its barriers name, so an ordinary launch launches them; what a block reads and writes
// in another one's shared memory goes 16 bytes at a time.
//
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_90a" -o %t.mlir
// RUN: %ptx print %t.mlir | FileCheck %s
// RUN: FileCheck %s --check-prefix=HOST < %t.mlir
//
// CHECK-LABEL: .entry pass
// CHECK: .reqnctapercluster 2, 1, 1
// CHECK: mov.u32 {{.*}}%cluster_ctarank
// CHECK: barrier.cluster.arrive.aligned
// CHECK: barrier.cluster.wait.aligned
// CHECK: mapa.shared::cluster
// CHECK: st.shared::cluster.v4
// CHECK: barrier.cluster.arrive.aligned
// CHECK: barrier.cluster.wait.aligned
// CHECK: mapa.shared::cluster
// CHECK: ld.shared::cluster.v4
// CHECK: barrier.cluster.arrive.aligned
// CHECK: barrier.cluster.wait.aligned
//
// HOST: call @llmmem_cuda_launch(
//
// Accesses of another block's memory count as passes of shared memory, with their conflicts, and barriers of the cluster as those of its
// blocks: 4 blocks of 32 threads store 16 bytes each in 4 passes, and load them 32 bytes apart in 8, 2 ways. The buffers' bytes are the
// only traffic. What goes from block to block, 16 bytes of each thread twice, is counted apart, as the way is longer.
// RUN: llmmem-opt %s --report-kernel-counts=json=%t.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS
// RUN: FileCheck %s --check-prefix=PEERS < %t.json
// RUN: not llmmem-opt %s --report-kernel-counts=most-conflicts=1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: llmmem-opt %s --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s --check-prefix=TRAFFIC
// COUNTS: pass {{ *}}1 {{ *}}4 {{ *}}0 {{ *}}12 {{ *}}{{[0-9]+}} {{ *}}48 {{ *}}32 {{ *}}2 {{ *}}128 {{ *}}128{{$}}
// PEERS: "cluster": 2,
// PEERS: "peer_bytes": 4096,
// REFUSED: error: 'llvm.load' op needs 2 passes of shared memory for lanes that could go together, in kernel 'pass'
// TRAFFIC: host {{ *}}1 {{ *}}1 {{ *}}4096 {{ *}}4096 {{ *}}4096 {{ *}}1.000{{$}}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @pass(%x: memref<512xf32>, %y: memref<512xf32>) workgroup(%tile: memref<256xf32, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %i = gpu.thread_id x
      %block = gpu.block_id x
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %one = arith.constant 1 : i32
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %other = arith.xori %rank, %one : i32
      %first = arith.muli %block, %c128 : index
      %at = arith.muli %i, %c4 : index
      %own = arith.addi %first, %at : index
      %v = vector.load %x[%own] : memref<512xf32>, vector<4xf32>
      %begin = memref.extract_aligned_pointer_as_index %tile : memref<256xf32, #gpu.address_space<workgroup>> -> index
      nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
      nvvm.cluster.wait {aligned}
      %tight = arith.muli %i, %c16 : index
      %to = arith.addi %begin, %tight : index
      %to_word = arith.index_cast %to : index to i64
      %to_own = llvm.inttoptr %to_word : i64 to !llvm.ptr<3>
      %to_peer = nvvm.mapa %to_own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      llvm.store %v, %to_peer {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<7>
      nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
      nvvm.cluster.wait {aligned}
      %apart = arith.muli %i, %c32 : index
      %from = arith.addi %begin, %apart : index
      %from_word = arith.index_cast %from : index to i64
      %from_own = llvm.inttoptr %from_word : i64 to !llvm.ptr<3>
      %from_peer = nvvm.mapa %from_own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %w = llvm.load %from_peer {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xf32>
      vector.store %w, %y[%own] : memref<512xf32>, vector<4xf32>
      nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
      nvvm.cluster.wait {aligned}
      gpu.return
    }
  }
  func.func private @host(%x: memref<512xf32>, %y: memref<512xf32>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@pass blocks in (%c4, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<512xf32>, %y : memref<512xf32>)
    return
  }
  func.func @step(%x: memref<512xf32>, %y: memref<512xf32>) {
    call @host(%x, %y) : (memref<512xf32>, memref<512xf32>) -> ()
    return
  }
}
