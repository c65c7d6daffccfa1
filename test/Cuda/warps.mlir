// What threads do together: shuffles, barriers, memory of the block, products of fragments.
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_80" | %ptx print | FileCheck %s
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_90a" | %ptx print | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    // CHECK-LABEL: .entry sum_of_block
    // CHECK: .shared .align 16
    // CHECK: shfl.sync.bfly.b32
    // CHECK: st.shared
    // CHECK: bar.sync 0
    // CHECK: ld.shared.v4
    gpu.func @sum_of_block(%x: memref<1024xf32>, %y: memref<4xf32>) workgroup(%sums : memref<8xf32, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : index
      %c256 = arith.constant 256 : index
      %distance = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %b = arith.muli %block, %c256 : index
      %i = arith.addi %b, %thread : index
      %own = memref.load %x[%i] : memref<1024xf32>
      %other, %valid = gpu.shuffle xor %own, %distance, %width : f32
      %sum = arith.addf %own, %other : f32
      %warp = arith.divui %thread, %c32 : index
      memref.store %sum, %sums[%warp] : memref<8xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %is_first = arith.cmpi eq, %thread, %c0 : index
      scf.if %is_first {
        %zero = arith.constant dense<0.0> : vector<4xf32>
        %all = scf.for %k = %c0 to %c32 step %c4 iter_args(%carried = %zero) -> (vector<4xf32>) {
          %part = vector.load %sums[%k] : memref<8xf32, #gpu.address_space<workgroup>>, vector<4xf32>
          %next = arith.addf %carried, %part : vector<4xf32>
          scf.yield %next : vector<4xf32>
        }
        %total = vector.reduction <add>, %all : vector<4xf32> into f32
        memref.store %total, %y[%block] : memref<4xf32>
      }
      gpu.return
    }
    // CHECK-LABEL: .entry product
    // CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    gpu.func @product(%a: memref<1024xbf16>, %c: memref<128xf32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c8 = arith.constant 8 : index
      %c4 = arith.constant 4 : index
      %thread = gpu.thread_id x
      %i = arith.muli %thread, %c8 : index
      %o = arith.muli %thread, %c4 : index
      %v = vector.load %a[%i] : memref<1024xbf16>, vector<8xbf16>
      %words = vector.bitcast %v : vector<8xbf16> to vector<4xi32>
      %a0 = vector.extract %words[0] : i32 from vector<4xi32>
      %a1 = vector.extract %words[1] : i32 from vector<4xi32>
      %a2 = vector.extract %words[2] : i32 from vector<4xi32>
      %a3 = vector.extract %words[3] : i32 from vector<4xi32>
      %zero = arith.constant 0.0 : f32
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%a0, %a1] C[%zero, %zero, %zero, %zero]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>,
         multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
      memref.store %d0, %c[%o] : memref<128xf32>
      gpu.return
    }
    // Memory that the launch gives a block, in parts.
    // CHECK-LABEL: .entry scratch
    // CHECK: st.shared.v4
    // CHECK: ld.shared.v4
    gpu.func @scratch(%x: memref<1024xf32>, %y: memref<1024xf32>) kernel
        attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c4 = arith.constant 4 : index
      %c1020 = arith.constant 1020 : index
      %c4096 = arith.constant 4096 : index
      %thread = gpu.thread_id x
      %i = arith.muli %thread, %c4 : index
      %j = arith.subi %c1020, %i : index
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %own = memref.view %bytes[%c4096][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<1024xf32, #gpu.address_space<workgroup>>
      %v = vector.load %x[%i] : memref<1024xf32>, vector<4xf32>
      vector.store %v, %own[%i] : memref<1024xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      gpu.barrier
      %w = vector.load %own[%j] : memref<1024xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      vector.store %w, %y[%i] : memref<1024xf32>, vector<4xf32>
      gpu.return
    }
  }
}
