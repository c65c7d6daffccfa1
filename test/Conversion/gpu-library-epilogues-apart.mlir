// A kernel that the plan has for no library is generated code also where a library multiplies, and people hear of it: in
// such a plan the gradient may lie where the library would still read aux, here and not in another run of the op.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" %s 2>&1 | FileCheck %s --implicit-check-not=llm.library_product

// CHECK: generated.mlir:[[@LINE+5]]:9: remark: is generated code, as the plan has 'linear+gelu_grad' for no library; plan with --products=library
// CHECK: gpu.launch
// CHECK: nvvm.mma.sync
func.func @step(%dy: tensor<64x16xbf16>, %v: tensor<32x16xbf16>, %x: tensor<64x32xbf16>) -> tensor<64x32xbf16> attributes {llm.arena = 4096 : i64} {
  %h = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64x32xbf16>
  %dh = llm.kernel(%i = %dy, %m = %v, %k = %h) : (tensor<64x16xbf16>, tensor<32x16xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %p = llm.linear %i, %m layout(out_in) : (tensor<64x16xbf16>, tensor<32x16xbf16>) -> tensor<64x32xbf16>
    %g = llm.gelu_grad %k, %p : tensor<64x32xbf16>
    llm.yield %g : tensor<64x32xbf16>
  } attributes {llm.offsets = array<i64: 0>}
  return %dh : tensor<64x32xbf16>
}
