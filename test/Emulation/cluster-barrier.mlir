// A barrier of the cluster waits for all threads of all of its blocks, wherever in the kernel each block meets the others, and orders what
// they do in global memory too. Blocks of other clusters are not ordered.
//
// RUN: llmmem-emulate %s --print 64 | FileCheck %s
// CHECK: argument 1: 16 17 18{{.*}} 31 0 1 2{{.*}} 15 48 49{{.*}} 63 32 33{{.*}} 47{{$}}
//
// A block that has ended, a thread that has, and a thread that waits for its block alone:
// RUN: sed "s/arith.cmpi ne, %%rank, %%none/arith.cmpi eq, %%rank, %%none/; /other barrier/d; /%%w = /d; s/store %%w/store %%v/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: sed "s/arith.cmpi ne, %%rank, %%none : i32/arith.cmpi ult, %%i, %%c8 : index/; /other barrier/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=THREAD
// RUN: sed "s/arith.cmpi ne, %%rank, %%none : i32/arith.cmpi ult, %%i, %%c8 : index/; s/nvvm.cluster.arrive.*other barrier/gpu.barrier/; /other barrier/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// BLOCK: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): waits at a barrier of the cluster that block (1, 0, 0) does not reach: it has ended
// BLOCK: note: in nvvm.cluster.wait
// THREAD: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): waits at a barrier that thread (8, 0, 0) does not reach: it has ended
// ELSEWHERE: error: kernel 'swap', block (0, 0, 0), thread (0, 0, 0): waits at a barrier that thread (8, 0, 0) does not reach: it waits elsewhere
//
// Memory of the launch that the other block of the cluster, or a block of another cluster, has written:
// RUN: sed "s/nvvm.cluster.arrive.*/gpu.barrier/; /nvvm.cluster.wait/d; s/%%x: memref<64xf32>, %%y: memref<64xf32>) kernel/& attributes {known_cluster_size = array<i32: 2, 1, 1>}/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: sed "s/%%c1 = arith.constant 1 : index .. bit/%%c1 = arith.constant 2 : index/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=OTHER
// GLOBAL: error: kernel 'swap', block (1, 0, 0), thread (0, 0, 0): writes byte 64 of argument 0, which several blocks of the cluster have read with no barrier of the cluster between
// OTHER: error: kernel 'swap', block (2, 0, 0), thread (0, 0, 0): writes byte 128 of argument 0, which several blocks have read in the same launch
//
// What the emulator and the runtime cannot launch:
// RUN: sed "s/%%blocks = arith.constant 4/%%blocks = arith.constant 3/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: sed "s/%%blocks = arith.constant 4/%%blocks = arith.constant 3/" %s | not llmmem-opt --convert-gpu-kernels-to-nvvm=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: sed "s/llm.cluster_blocks = 2/llm.cluster_blocks = 16/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: sed "s/llm.cluster_blocks = 2 : i32} .. other/llm.cluster_blocks = 4 : i32} \/\/ other/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: sed "s/nvvm.cluster.wait {aligned} .. other barrier/memref.store %%v, %%y[%%own] : memref<64xf32>/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=WAIT
// GRID: error: 'gpu.launch_func' op has a grid of 3 blocks along x, but its kernel has clusters of 2; expected a multiple
// MOST: error: 'gpu.func' op has clusters of 16 blocks; expected 1 to 8
// SIZES: error: 'gpu.func' op has clusters of 2 and of 4 blocks; expected one size
// WAIT: error: 'nvvm.cluster.arrive' op has no nvvm.cluster.wait directly after it, which the emulator does not support

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @swap(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %block = gpu.block_id x
      %c1 = arith.constant 1 : index // bit
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %none = arith.constant 0 : i32
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %first = arith.muli %block, %c16 : index
      %own = arith.addi %first, %i : index
      %v = memref.load %x[%own] : memref<64xf32>
      memref.store %v, %x[%own] : memref<64xf32>
      %later = arith.cmpi ne, %rank, %none : i32
      scf.if %later {
        nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
        nvvm.cluster.wait {aligned}
      } else {
        nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32} // other barrier
        nvvm.cluster.wait {aligned} // other barrier
      }
      %peer = arith.xori %block, %c1 : index
      %there = arith.muli %peer, %c16 : index
      %place = arith.addi %there, %i : index
      %w = memref.load %x[%place] : memref<64xf32>
      memref.store %w, %y[%own] : memref<64xf32>
      gpu.return
    }
  }
  func.func @step(%x: memref<64xf32>, %y: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %blocks = arith.constant 4 : index
    %threads = arith.constant 16 : index
    gpu.launch_func @kernels::@swap blocks in (%blocks, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%x : memref<64xf32>, %y : memref<64xf32>)
    return
  }
}
