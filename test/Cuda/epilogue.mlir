// What follows a product spills nothing: the sums go by in pairs. Two blocks fit a multiprocessor.
//
// REQUIRES: ptxas
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --convert-gpu-kernels-to-nvvm="chip=sm_80" %t.mlir | %ptx table --ptxas ptxas_path --registers . 128 --mma kernel_0_linear_gelu_kernel | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --convert-gpu-kernels-to-nvvm="chip=sm_90a" %t.mlir | %ptx table --ptxas ptxas_path --registers . 128 --mma kernel_0_linear_gelu_kernel | FileCheck %s
//
// CHECK: kernel {{ *}}registers {{ *}}spills {{ *}}local
// CHECK: kernel_0_linear_gelu_kernel {{ *[0-9]+ +0 +0 }}
// CHECK: kernel_1_linear_gelu_grad_kernel {{ *[0-9]+ +0 +0 }}
func.func @step(%x: tensor<512x256xbf16>, %w: tensor<256x1024xbf16>, %b: tensor<1024xbf16>, %dy: tensor<512x256xbf16>, %v: tensor<1024x256xbf16>) -> (tensor<512x1024xbf16>, tensor<512x1024xbf16>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out) {llm.phase = "forward"} : (tensor<512x256xbf16>, tensor<256x1024xbf16>, tensor<1024xbf16>) -> tensor<512x1024xbf16>
  %a = llm.gelu %h {llm.phase = "forward"} : tensor<512x1024xbf16>
  %da = llm.linear %dy, %v layout(out_in) {llm.phase = "backward"} : (tensor<512x256xbf16>, tensor<1024x256xbf16>) -> tensor<512x1024xbf16>
  %dh = llm.gelu_grad %h, %da {llm.phase = "backward"} : tensor<512x1024xbf16>
  return %a, %dh : tensor<512x1024xbf16>, tensor<512x1024xbf16>
}
