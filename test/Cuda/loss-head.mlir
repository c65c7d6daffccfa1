// The logits' product in tiles of 256 x 128, a block of which has a multiprocessor for itself, spills nothing of what the
// softmax adds to it; rows, of an odd length too, move 128 bits.
//
// REQUIRES: ptxas
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: llmmem-opt --target=cuda --chip=sm_80 %t.mlir | %ptx table --ptxas ptxas_path --registers kernel_0_loss_head_kernel$ 255 --registers _0$ 64 --mma kernel_0_loss_head_kernel$ --vector kernel_0_loss_head_kernel_0$ | FileCheck %s
// RUN: llmmem-opt --target=cuda --chip=sm_90a %t.mlir | %ptx table --ptxas ptxas_path --registers kernel_0_loss_head_kernel$ 255 --registers _0$ 64 --wgmma kernel_0_loss_head_kernel$ --vector kernel_0_loss_head_kernel_0$ | FileCheck %s
//
// CHECK: kernel {{ *}}registers {{ *}}spills {{ *}}local
// CHECK: kernel_0_loss_head_kernel {{ *[0-9]+ +0 +0 }}
// CHECK: kernel_0_loss_head_kernel_0 {{ *[0-9]+ +0 +0 }}
func.func @step(%x: tensor<512x256xbf16>, %w: tensor<50257x256xbf16>, %t: tensor<512xi32>) -> (tensor<f32>, tensor<512x256xbf16>, tensor<50257x256xbf16>) {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 512 : i64}
    : (tensor<512x256xbf16>, tensor<50257x256xbf16>, tensor<512xi32>) -> (tensor<f32>, tensor<512x256xbf16>, tensor<50257x256xbf16>)
  return %loss, %dx, %dw : tensor<f32>, tensor<512x256xbf16>, tensor<50257x256xbf16>
}
