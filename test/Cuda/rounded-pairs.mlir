// What a kernel rounds to bf16 and goes on with is rounded in pairs, one instruction for two numbers: the product's result
// that gelu reads, and gelu's.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --convert-gpu-kernels-to-nvvm="chip=sm_90a" %s | sed "s/.0A/\n/g" | FileCheck %s --implicit-check-not=cvt.rn.bf16.f32

// CHECK: .entry kernel_0_scale_gelu_kernel(
// CHECK-COUNT-8: cvt.rn.bf16x2.f32
// CHECK-NOT: cvt.rn.bf16x2.f32
func.func @step(%x: tensor<2048xbf16>) -> (tensor<2048xbf16>, tensor<2048xbf16>) attributes {llm.arena = 8192 : i64} {
  %s, %a = llm.kernel(%v = %x) : (tensor<2048xbf16>) -> (tensor<2048xbf16>, tensor<2048xbf16>) {
    %p = llm.scale %v {factor = 0.3 : f64} : tensor<2048xbf16>
    %g = llm.gelu %p : tensor<2048xbf16>
    llm.yield %p, %g : tensor<2048xbf16>, tensor<2048xbf16>
  } attributes {llm.offsets = array<i64: 0, 4096>}
  return %s, %a : tensor<2048xbf16>, tensor<2048xbf16>
}
