// ldmatrix by one warp: four matrices of 8 x 8 whose rows the lanes name, lane i row i % 8 of matrix i / 8. Lane 1 gets
// elements 2 and 3 of row 0 of each matrix; or, turned, elements 0 of rows 2 and 3. Here the rows of a matrix lie one row
// further apart than the matrix before, in a buffer of 0 to 127 in rows of 8.
//
// RUN: llmmem-emulate %s --print 16 | FileCheck %s
// RUN: sed "s/transpose = false/transpose = true/" %s | llmmem-emulate --print 16 | FileCheck %s --check-prefix=TURNED
// RUN: sed "/gpu.barrier/d" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=BARRIER
// RUN: sed "s/constant 32 : index .. lanes/constant 31 : index/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: sed "s/arith.constant 8 : index .. a row/arith.constant 4 : index/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=PLACE
//
// Lanes 0 and 1, two elements of each of four matrices:
// CHECK: argument 1: 0 1 72 73 16 17 88 89 2 3 74 75 18 19 90 91
// TURNED: argument 1: 0 8 72 80 16 24 88 96 16 24 88 96 32 40 104 112
//
// BARRIER: error: kernel 'load', block (0, 0, 0), thread (8, 0, 0): reads byte 144 of shared memory, which this block has not written
// LANES: error: kernel 'load', block (0, 0, 0), thread ({{.*}}): waits for lanes 0 to 31 of its warp, which has 31 lanes
// PLACE: error: kernel 'load', block (0, 0, 0), thread (1, 0, 0): reads 16 bytes at byte 8 of shared memory: the address is not a multiple of 16

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @load(%a: memref<256xbf16>, %b: memref<256xbf16>)
        workgroup(%tile: memref<256xbf16, #gpu.address_space<workgroup>>) kernel {
      %lane = gpu.lane_id
      %c8 = arith.constant 8 : index // a row
      %eight = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %matrix = arith.divui %lane, %eight : index
      %shifted = arith.addi %lane, %matrix : index
      %number = arith.remui %shifted, %c16 : index
      %row = arith.muli %number, %c8 : index
      %own = arith.muli %lane, %eight : index
      %v = vector.load %a[%own] : memref<256xbf16>, vector<8xbf16>
      vector.store %v, %tile[%own] : memref<256xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
      gpu.barrier
      %m = nvgpu.ldmatrix %tile[%row] {transpose = false, numTiles = 4 : i32}
        : memref<256xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c6 = arith.constant 6 : index
      %at1 = arith.addi %own, %c2 : index
      %at2 = arith.addi %own, %c4 : index
      %at3 = arith.addi %own, %c6 : index
      %m0 = vector.extract %m[0] : vector<2xbf16> from vector<4x2xbf16>
      %m1 = vector.extract %m[1] : vector<2xbf16> from vector<4x2xbf16>
      %m2 = vector.extract %m[2] : vector<2xbf16> from vector<4x2xbf16>
      %m3 = vector.extract %m[3] : vector<2xbf16> from vector<4x2xbf16>
      vector.store %m0, %b[%own] : memref<256xbf16>, vector<2xbf16>
      vector.store %m1, %b[%at1] : memref<256xbf16>, vector<2xbf16>
      vector.store %m2, %b[%at2] : memref<256xbf16>, vector<2xbf16>
      vector.store %m3, %b[%at3] : memref<256xbf16>, vector<2xbf16>
      gpu.return
    }
  }
  func.func @step(%a: memref<256xbf16>, %b: memref<256xbf16>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 32 : index // lanes
    gpu.launch_func @kernels::@load blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%a : memref<256xbf16>, %b : memref<256xbf16>)
    return
  }
}
