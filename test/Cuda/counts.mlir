// What makes kernels slow, counted statically: conflicts of banks, sectors, barriers, instructions.
// RUN: llmmem-opt %s --report-kernel-counts=json=%t.json -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: not llmmem-opt %s --report-kernel-counts=most-conflicts=2 -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: kernel {{ *}}launches {{ *}}blocks {{ *}}mma {{ *}}barriers {{ *}}instructions {{ *}}passes {{ *}}fewest {{ *}}conflict {{ *}}sectors {{ *}}fewest
// 32 lanes read words two words apart, 16 banks: two passes, where one would do. They read 128 neighbouring bytes.
// CHECK: strided {{ *}}1 {{ *}}1 {{ *}}0 {{ *}}0 {{ *}}2 {{ *}}2 {{ *}}1 {{ *}}2 {{ *}}4 {{ *}}4{{$}}
// Columns of 32 words: all lanes one bank. And the bytes of a word are one access: no conflict.
// CHECK: columns {{ *}}1 {{ *}}1 {{ *}}0 {{ *}}1 {{ *}}3 {{ *}}33 {{ *}}2 {{ *}}32 {{ *}}0 {{ *}}0{{$}}
// 16 bytes a lane go in four passes of 8 lanes. Rows of 64 bytes: eight lanes' rows begin in two places, four passes
// each; in rows of 80 bytes they all begin apart. ldmatrix the same.
// CHECK: vectors {{ *}}1 {{ *}}1 {{ *}}0 {{ *}}0 {{ *}}3 {{ *}}24 {{ *}}12 {{ *}}4 {{ *}}0 {{ *}}0{{$}}
// Rows of 1024 f32, of which each lane reads one: a sector for every lane, 8 times what it needs. Both iterations of
// both blocks count.
// CHECK: gathered {{ *}}1 {{ *}}2 {{ *}}0 {{ *}}0 {{ *}}4 {{ *}}0 {{ *}}0 {{ *}}1 {{ *}}128 {{ *}}16{{$}}

// JSON: "format": "llmmem-kernel-counts"
// JSON: "conflict": 4
// JSON: "op": "nvgpu.ldmatrix"

// REFUSED: error: 'memref.load' op needs 32 passes of shared memory for lanes that could go together, in kernel 'columns'; expected at most 2: other places, a swizzle or padding

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @strided(%x: memref<32xf32>) workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %c2 = arith.constant 2 : index
      %i = gpu.thread_id x
      %place = arith.muli %i, %c2 : index
      %v = memref.load %x[%i] : memref<32xf32>
      memref.store %v, %tile[%place] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
    gpu.func @columns() workgroup(%tile: memref<1024xf32, #gpu.address_space<workgroup>>,
                                  %bytes: memref<32xi8, #gpu.address_space<workgroup>>) kernel {
      %c32 = arith.constant 32 : index
      %i = gpu.thread_id x
      %place = arith.muli %i, %c32 : index
      %v = memref.load %tile[%place] : memref<1024xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %bytes[%i] : memref<32xi8, #gpu.address_space<workgroup>>
      gpu.return
    }
    gpu.func @vectors() workgroup(%tile: memref<2048xbf16, #gpu.address_space<workgroup>>) kernel {
      %c32 = arith.constant 32 : index
      %c40 = arith.constant 40 : index
      %i = gpu.thread_id x
      %tight = arith.muli %i, %c32 : index
      %padded = arith.muli %i, %c40 : index
      %v = vector.load %tile[%tight] : memref<2048xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
      %w = vector.load %tile[%padded] : memref<2048xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
      %m = nvgpu.ldmatrix %tile[%padded] {transpose = false, numTiles = 4 : i32}
        : memref<2048xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
      gpu.return
    }
    gpu.func @gathered(%x: memref<131072xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c1024 = arith.constant 1024 : index
      %block = gpu.block_id x
      %i = gpu.thread_id x
      %row = arith.muli %i, %c1024 : index
      scf.for %k = %c0 to %c2 step %c1 {
        %shift = arith.addi %k, %block : index
        %place = arith.addi %row, %shift : index
        %v = memref.load %x[%place] : memref<131072xf32>
      }
      gpu.return
    }
  }
  func.func private @one(%x: memref<32xf32>, %y: memref<131072xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@strided blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : memref<32xf32>)
    gpu.launch_func @kernels::@columns blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    gpu.launch_func @kernels::@vectors blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    gpu.launch_func @kernels::@gathered blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) args(%y : memref<131072xf32>)
    return
  }
  func.func @step(%x: memref<32xf32>, %y: memref<131072xf32>) {
    call @one(%x, %y) : (memref<32xf32>, memref<131072xf32>) -> ()
    return
  }
}
