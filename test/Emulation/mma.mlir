// D = A B + C by one warp: A of 16 x 16 in rows, B of 16 x 8 in columns, C of 16 x 8 in rows. Each lane loads its
// fragments where the PTX manual says. A lane that takes two words of A in the wrong order computes something else.
//
// RUN: llmmem-emulate %s --print 128 | FileCheck %s
// RUN: sed "s/A\[%a0, %a1, %a2, %a3\]/A[%a0, %a2, %a1, %a3]/" %s | llmmem-emulate --print 128 | FileCheck %s --check-prefix=SWAPPED
// RUN: sed "s/constant 32 : index .. lanes/constant 31 : index/" %s | not llmmem-emulate 2>&1 | FileCheck %s --check-prefix=LANES
//
// CHECK: argument 2: 1240 3161 5082 7003 8924 10845 12766 14687
// CHECK-SAME: 3232 9249 15266 21283 27300 33317 39334 45351
// CHECK-SAME: 14800 45393 75986 106579 137172 167765 198358 228951{{$}}
//
// SWAPPED: argument 2:
// SWAPPED-NOT: 1240 3161 5082 7003 8924 10845 12766 14687
//
// LANES: error: kernel 'product', block (0, 0, 0), thread (0, 0, 0): waits for lanes 0 to 31 of its warp, which has 31 lanes

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @product(%a: memref<256xbf16>, %b: memref<128xbf16>, %c: memref<128xf32>) kernel {
      %lane = gpu.lane_id
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c136 = arith.constant 136 : index
      %zero = arith.constant 0 : i32
      %group = arith.divui %lane, %c4 : index
      %rest = arith.remui %lane, %c4 : index
      %pair = arith.muli %rest, %c2 : index
      %row = arith.muli %group, %c16 : index
      %at0 = arith.addi %row, %pair : index
      %at1 = arith.addi %at0, %c128 : index
      %at2 = arith.addi %at0, %c8 : index
      %at3 = arith.addi %at0, %c136 : index
      %va0 = vector.load %a[%at0] : memref<256xbf16>, vector<2xbf16>
      %va1 = vector.load %a[%at1] : memref<256xbf16>, vector<2xbf16>
      %va2 = vector.load %a[%at2] : memref<256xbf16>, vector<2xbf16>
      %va3 = vector.load %a[%at3] : memref<256xbf16>, vector<2xbf16>
      %vb0 = vector.load %b[%at0] : memref<128xbf16>, vector<2xbf16>
      %vb1 = vector.load %b[%at2] : memref<128xbf16>, vector<2xbf16>
      %a0 = llvm.bitcast %va0 : vector<2xbf16> to i32
      %a1 = llvm.bitcast %va1 : vector<2xbf16> to i32
      %a2 = llvm.bitcast %va2 : vector<2xbf16> to i32
      %a3 = llvm.bitcast %va3 : vector<2xbf16> to i32
      %b0 = llvm.bitcast %vb0 : vector<2xbf16> to i32
      %b1 = llvm.bitcast %vb1 : vector<2xbf16> to i32
      %crow = arith.muli %group, %c8 : index
      %at4 = arith.addi %crow, %pair : index
      %at5 = arith.addi %at4, %c64 : index
      %vc0 = vector.load %c[%at4] : memref<128xf32>, vector<2xf32>
      %vc1 = vector.load %c[%at5] : memref<128xf32>, vector<2xf32>
      %f0 = vector.extract %vc0[0] : f32 from vector<2xf32>
      %f1 = vector.extract %vc0[1] : f32 from vector<2xf32>
      %f2 = vector.extract %vc1[0] : f32 from vector<2xf32>
      %f3 = vector.extract %vc1[1] : f32 from vector<2xf32>
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%f0, %f1, %f2, %f3]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>,
         multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
      %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
      %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
      %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
      %vd0 = vector.from_elements %d0, %d1 : vector<2xf32>
      %vd1 = vector.from_elements %d2, %d3 : vector<2xf32>
      vector.store %vd0, %c[%at4] : memref<128xf32>, vector<2xf32>
      vector.store %vd1, %c[%at5] : memref<128xf32>, vector<2xf32>
      gpu.return
    }
  }
  func.func @step(%a: memref<256xbf16>, %b: memref<128xbf16>, %c: memref<128xf32>) {
    %c1 = arith.constant 1 : index
    %threads = arith.constant 32 : index // lanes
    gpu.launch_func @kernels::@product blocks in (%c1, %c1, %c1) threads in (%threads, %c1, %c1)
        args(%a : memref<256xbf16>, %b : memref<128xbf16>, %c : memref<128xf32>)
    return
  }
}
