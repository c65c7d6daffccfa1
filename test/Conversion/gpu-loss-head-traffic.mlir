// A row of logits in bf16 is read once, for its gradient: what its loss needs of all of it came with the product, tile by
// tile. 256 x 8192 logits are 4 MiB in and out, what is known of 64 tiles a row 128 KiB; the row's target and its logit,
// at places that nobody knows, are asked for once a warp: 256 * 8 * 14 bytes. A library says nothing of tiles: a row is read
// twice, 12 MiB in all.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic %t.mlir -o /dev/null 2>&1 | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu products=library" --gpu-kernel-outlining --canonicalize --cse --report-kernel-traffic %t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIBRARY

// CHECK: kernel_0_loss_head_kernel {{ *}}1 {{ *}}8519680 {{ *}}8519680 {{ *}}5406720
// CHECK-NEXT: kernel_0_loss_head_kernel_0 {{ *}}1 {{ *}}8550400 {{ *}}8526848 {{ *}}8521728
// LIBRARY: kernel_0_loss_head_kernel {{ *}}1 {{ *}}12613632
func.func @step(%x: tensor<256x64xbf16>, %w: tensor<8192x64xbf16>, %t: tensor<256xi32>) -> (tensor<f32>, tensor<256x64xbf16>, tensor<8192x64xbf16>) {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 256 : i64}
    : (tensor<256x64xbf16>, tensor<8192x64xbf16>, tensor<256xi32>) -> (tensor<f32>, tensor<256x64xbf16>, tensor<8192x64xbf16>)
  return %loss, %dx, %dw : tensor<f32>, tensor<256x64xbf16>, tensor<8192x64xbf16>
}
