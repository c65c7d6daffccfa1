// All that host code asks of a GPU, as a list: loops unrolled, places as bytes of the step's arguments.
// RUN: llmmem-opt %s --report-launches -o /dev/null 2>&1 | FileCheck %s --match-full-lines --strict-whitespace --implicit-check-not={{.}}
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%x: memref<64xf32>) kernel { gpu.return }
    gpu.func @scale(%x: memref<128xbf16>, %by: f32, %count: i32, %from: index) kernel { gpu.return }
  }
  memref.global "private" constant @table : memref<4xf32> = dense<1.0>
  func.func private @kernel_0(%x: memref<64xf32>) {
    %unused = memref.get_global @table : memref<4xf32>
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xf32>)
    return
  }
  // Chunks of a buffer, and granules of a chunk: 4 launches. The first loop ends within a step.
  func.func private @kernel_1(%bytes: memref<1024xi8>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c256 = arith.constant 256 : index
    %shared = arith.constant 65536 : i32
    %minus = arith.constant -2.0 : f32
    %small = arith.constant -1 : i32
    scf.for %i = %c0 to %c3 step %c2 {
      scf.for %j = %c0 to %c2 step %c1 {
        %both = arith.addi %i, %j : index
        %place = arith.muli %both, %c256 : index
        %v = memref.view %bytes[%place][] : memref<1024xi8> to memref<128xbf16>
        gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %shared
            args(%v : memref<128xbf16>, %minus : f32, %small : i32, %both : index)
      }
    }
    return
  }
  func.func private @kernel_2(%x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12288xbf16>, %b: memref<96xbf16>, %s: memref<4096xi8>) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    llm.library_product %x[%c16], %w[%c0], %y[%c0] bias(%b : memref<96xbf16>) workspace(%s : memref<4096xi8>)
        {a = #llm.matrix<pitch = 64, alignment = 32>, b = #llm.matrix<pitch = 96>, c = #llm.matrix<pitch = 96>, columns = 96 : i64,
         epilogue = 1 : i64, inner = 64 : i64, rows = 126 : i64} : memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>
    return
  }
  // What the host runs is not looked into.
  func.func private @kernel_3(%x: memref<64xf32>, %rate: memref<1xf32>) {
    %c0 = arith.constant 0 : index
    %lr = memref.load %rate[%c0] : memref<1xf32>
    memref.store %lr, %x[%c0] : memref<64xf32>
    return
  }
  func.func private @llmmem_cuda_update_wait()
  func.func private @llmmem_cuda_mark(i64)
  func.func private @llmmem_cuda_host_copy(i64, i64, i64, i64)
  func.func private @llmmem_cuda_host_copy_start(i64, i64, i64, i64)
  func.func private @llmmem_cuda_host_copy_wait(i64)
  func.func @step(%arena: memref<4096xi8>, %x: memref<8192xbf16>, %w: memref<6144xbf16>, %y: memref<12288xbf16>, %b: memref<96xbf16>,
                  %host: memref<4096xi8>) {
    %c256 = arith.constant 256 : index
    %mark0 = arith.constant 0 : i64
    %mark1 = arith.constant 1 : i64
    %bytes = arith.constant 256 : i64
    func.call @llmmem_cuda_mark(%mark0) : (i64) -> ()
    %v = memref.view %arena[%c256][] : memref<4096xi8> to memref<64xf32>
    call @kernel_0(%v) : (memref<64xf32>) -> ()
    func.call @llmmem_cuda_mark(%mark1) : (i64) -> ()
    %chunks = memref.view %arena[%c256][] : memref<4096xi8> to memref<1024xi8>
    call @kernel_1(%chunks) : (memref<1024xi8>) -> ()
    %c0 = arith.constant 0 : index
    %s = memref.view %arena[%c0][] : memref<4096xi8> to memref<4096xi8>
    call @kernel_2(%x, %w, %y, %b, %s) : (memref<8192xbf16>, memref<6144xbf16>, memref<12288xbf16>, memref<96xbf16>, memref<4096xi8>) -> ()
    %u = memref.view %host[%c256][] : memref<4096xi8> to memref<64xf32>
    %scalar = memref.view %host[%c0][] : memref<4096xi8> to memref<1xf32>
    memref.copy %v, %u : memref<64xf32> to memref<64xf32>
    %to = memref.extract_aligned_pointer_as_index %u : memref<64xf32> -> index
    %toWord = arith.index_cast %to : index to i64
    %from = memref.extract_aligned_pointer_as_index %v : memref<64xf32> -> index
    %fromWord = arith.index_cast %from : index to i64
    func.call @llmmem_cuda_host_copy(%toWord, %fromWord, %bytes, %mark0) : (i64, i64, i64, i64) -> ()
    func.call @llmmem_cuda_host_copy_start(%fromWord, %toWord, %bytes, %mark1) : (i64, i64, i64, i64) -> ()
    func.call @llmmem_cuda_host_copy_wait(%mark1) : (i64) -> ()
    func.call @kernel_3(%u, %scalar) {llm.on_host, llm.started} : (memref<64xf32>, memref<1xf32>) -> ()
    func.call @llmmem_cuda_update_wait() : () -> ()
    func.call @kernel_3(%u, %scalar) {llm.on_host} : (memref<64xf32>, memref<1xf32>) -> ()
    return
  }
}
//      CHECK:mark 0
// CHECK-NEXT:launch double grid 1 1 1 block 64 1 1 shared 0 (0+256)
// CHECK-NEXT:mark 1
// CHECK-NEXT:launch scale grid 2 1 1 block 256 1 1 shared 65536 (0+256, 3221225472, 4294967295, 0)
// CHECK-NEXT:launch scale grid 2 1 1 block 256 1 1 shared 65536 (0+512, 3221225472, 4294967295, 1)
// CHECK-NEXT:launch scale grid 2 1 1 block 256 1 1 shared 65536 (0+768, 3221225472, 4294967295, 2)
// CHECK-NEXT:launch scale grid 2 1 1 block 256 1 1 shared 65536 (0+1024, 3221225472, 4294967295, 3)
// CHECK-NEXT:multiply 1 times 126 x 64 by 64 x 96, epilogue 1, a 1+32 b 2+0 initial none c 3+0 bias 4+0 aux none workspace 0+0 of 4096
// CHECK-NEXT:copy of 256 bytes to 5+256 from 0+256
// CHECK-NEXT:host copy of 256 bytes to 5+256 from 0+256 direction 0
// CHECK-NEXT:start host copy of 256 bytes to 0+256 from 5+256 direction 1
// CHECK-NEXT:wait for host copy direction 1
// CHECK-NEXT:start update kernel_3 (5+256, 5+0)
// CHECK-NEXT:wait for update
// CHECK-NEXT:update kernel_3 (5+256, 5+0)
