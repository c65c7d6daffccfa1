// A kernel that the plan has for no library is a product by the library and a launch for its epilogue, where a library
// multiplies: the bits of the two apart, which another plan of the step may have. People hear of it.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s 2>&1 | FileCheck %s --implicit-check-not=nvvm.mma

// CHECK: apart.mlir:[[@LINE+7]]:9: remark: is a product and a launch, as the plan has 'linear+gelu_grad' for no library; plan with --products=library
// CHECK-LABEL: func.func private @kernel_1_linear_gelu_grad(
// CHECK: llm.library_product
// CHECK: gpu.launch
// CHECK: arith.divf
func.func @step(%dy: tensor<64x16xbf16>, %v: tensor<32x16xbf16>, %x: tensor<64x32xbf16>) -> tensor<64x32xbf16> attributes {llm.arena = 8192 : i64} {
  %h = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64x32xbf16>
  %dh = llm.kernel(%i = %dy, %m = %v, %k = %h) : (tensor<64x16xbf16>, tensor<32x16xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %p = llm.linear %i, %m layout(out_in) : (tensor<64x16xbf16>, tensor<32x16xbf16>) -> tensor<64x32xbf16>
    %g = llm.gelu_grad %k, %p : tensor<64x32xbf16>
    llm.yield %g : tensor<64x32xbf16>
  } attributes {llm.offsets = array<i64: 4096>}
  return %dh : tensor<64x32xbf16>
}
