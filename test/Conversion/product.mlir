// A product is a parallel loop over blocks of its result, each a call of a function that all products of the type
// share: copies of A and B, then tiles of fused multiply-adds. Or one call of the library.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=products=library %s | FileCheck %s --check-prefix=LIBRARY

func.func @step(%x: tensor<256x768xf32>, %w: tensor<768x768xf32>, %b: tensor<768xf32>, %h: tensor<256x768xbf16>,
                %v: tensor<768x768xbf16>) -> (tensor<256x768xf32>, tensor<256x768xbf16>)
    attributes {llm.arena = 1179648 : i64} {
  %y = llm.linear %x, %w bias(%b) layout(in_out) {llm.offsets = array<i64: 0>}
    : (tensor<256x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<256x768xf32>
  %z = llm.linear %h, %v layout(out_in) {llm.offsets = array<i64: 786432>}
    : (tensor<256x768xbf16>, tensor<768x768xbf16>) -> tensor<256x768xbf16>
  return %y, %z : tensor<256x768xf32>, tensor<256x768xbf16>
}

// CHECK-LABEL: func.func private @kernel_0_linear
// Two blocks of 128 rows by four of 192 columns.
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: call @gemm_f32_block_nn_initial(
// CHECK-LABEL: func.func private @gemm_f32_pack_b_n(
// CHECK-LABEL: func.func private @gemm_f32_tile_n3(
// CHECK: scf.for
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-LABEL: func.func private @kernel_1_linear
// CHECK: call @gemm_bf16_block_nt(
// CHECK-LABEL: func.func private @gemm_bf16_pack_b_t(
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>

// LIBRARY-LABEL: func.func private @kernel_0_linear
// LIBRARY-NOT: scf.forall
// LIBRARY: call @llmmem_library_gemm_f32(
// The library multiplies f32 alone.
// LIBRARY-LABEL: func.func private @kernel_1_linear
// LIBRARY: call @gemm_bf16_block_nt(
