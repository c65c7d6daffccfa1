// Numbers by elements: 128 bits move at a time, bf16 is rounded by the hardware, functions are polynomials that call
// nothing, and no product is fused with a sum that did not ask for it.
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_80" | %ptx print | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_90a" | %ptx print | FileCheck %s --check-prefixes=CHECK,SM90

// SM80: .target sm_80
// SM90: .target sm_90a
// CHECK-NOT: .extern
// CHECK-LABEL: .entry kernel_3_numbers_kernel
// CHECK-NOT: .local
// CHECK-NOT: call
// CHECK: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: div.rn.f32
// CHECK: mul.rn.f32
// CHECK: max.NaN.f32
// CHECK-COUNT-4: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.rn.bf16
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global

module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel_3_numbers_kernel(%x: memref<8192xbf16>, %y: memref<8192xbf16>) kernel
        attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %c256 = arith.constant 256 : index
      %c8 = arith.constant 8 : index
      %b = arith.muli %block, %c256 : index
      %t = arith.addi %b, %thread : index
      %i = arith.muli %t, %c8 : index
      %v = vector.load %x[%i] : memref<8192xbf16>, vector<8xbf16>
      %w = arith.extf %v : vector<8xbf16> to vector<8xf32>
      %th = math.tanh %w : vector<8xf32>
      %ex = math.exp %th : vector<8xf32>
      %lg = math.log %ex : vector<8xf32>
      %sq = math.sqrt %lg : vector<8xf32>
      %dv = arith.divf %sq, %w : vector<8xf32>
      %fm = math.fma %dv, %w, %th : vector<8xf32>
      %mu = arith.mulf %fm, %w : vector<8xf32>
      %ad = arith.addf %mu, %th : vector<8xf32>
      %mx = arith.maximumf %ad, %w : vector<8xf32>
      %r = arith.truncf %mx : vector<8xf32> to vector<8xbf16>
      vector.store %r, %y[%i] : memref<8192xbf16>, vector<8xbf16>
      gpu.return
    }
  }
  func.func private @kernel_3_numbers(%x: memref<8192xbf16>, %y: memref<8192xbf16>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @kernel_module::@kernel_3_numbers_kernel blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%x : memref<8192xbf16>, %y : memref<8192xbf16>)
    return
  }
  func.func @step(%arena: memref<65536xi8>, %p: memref<8192xbf16>) {
    %c256 = arith.constant 256 : index
    %v = memref.view %arena[%c256][] : memref<65536xi8> to memref<8192xbf16>
    call @kernel_3_numbers(%p, %v) {llm.values = array<i64: 4, 7>, llm.writes = array<i64: 1>} : (memref<8192xbf16>, memref<8192xbf16>) -> ()
    return
  }
}
