// A product with its epilogue asks for these bytes, by the index arithmetic of its kernels: those of the product, and the
// least of the rest. The kept activation's input (1 MiB) is not read again, the gradient before an activation (1 MiB) neither
// written nor read; tiles of the factors are read by several blocks, apart and together alike.
//
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=separate %s 2>/dev/null | llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART
// RUN: llmmem-opt --checkpoint-policy=none --epilogues=fused %s 2>/dev/null | llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic -o /dev/null 2>&1 | FileCheck %s

// APART: kernel_0_linear {{ *}}1 {{ *}}1 {{ *}}5373952
// APART: kernel_1_gelu {{ *}}1 {{ *}}1 {{ *}}2097152
// APART: kernel_2_linear {{ *}}1 {{ *}}1 {{ *}}5242880
// APART: kernel_3_gelu_grad {{ *}}1 {{ *}}1 {{ *}}3145728
// CHECK: kernel_0_linear_gelu {{ *}}1 {{ *}}1 {{ *}}6422528
// CHECK: kernel_1_linear_gelu_grad {{ *}}1 {{ *}}1 {{ *}}6291456
func.func @step(%x: tensor<512x256xbf16>, %w: tensor<256x1024xbf16>, %b: tensor<1024xbf16>, %dy: tensor<512x256xbf16>, %v: tensor<1024x256xbf16>) -> (tensor<512x1024xbf16>, tensor<512x1024xbf16>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out) {llm.phase = "forward"} : (tensor<512x256xbf16>, tensor<256x1024xbf16>, tensor<1024xbf16>) -> tensor<512x1024xbf16>
  %a = llm.gelu %h {llm.phase = "forward"} : tensor<512x1024xbf16>
  %da = llm.linear %dy, %v layout(out_in) {llm.phase = "backward"} : (tensor<512x256xbf16>, tensor<1024x256xbf16>) -> tensor<512x1024xbf16>
  %dh = llm.gelu_grad %h, %da {llm.phase = "backward"} : tensor<512x1024xbf16>
  return %a, %dh : tensor<512x1024xbf16>, tensor<512x1024xbf16>
}
