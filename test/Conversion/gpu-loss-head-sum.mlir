// Generated code sums the gradient of the weight of a whole chunk in one launch, which goes on from the accumulator: four granules
// of 512 tokens, one launch, no loop of the host. Its sums begin with the accumulator's halves, before anything is multiplied.
//
// RUN: llmmem-opt --checkpoint-policy=none %s | llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining | FileCheck %s
//
// CHECK-LABEL: func.func private @kernel_0_loss_head(
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_0_loss_head_kernel_2 blocks in (%c8
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_0_loss_head_kernel_3
//
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel_2(
// CHECK: arith.shli
// CHECK: scf.for
// CHECK: nvvm.mma.sync
func.func @step(%x: tensor<2048x64xbf16>, %w: tensor<1001x64xbf16>, %t: tensor<2048xi32>)
    -> (tensor<f32>, tensor<2048x64xbf16>, tensor<1001x64xbf16>) {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 1024 : i64}
    : (tensor<2048x64xbf16>, tensor<1001x64xbf16>, tensor<2048xi32>) -> (tensor<f32>, tensor<2048x64xbf16>, tensor<1001x64xbf16>)
  return %loss, %dx, %dw : tensor<f32>, tensor<2048x64xbf16>, tensor<1001x64xbf16>
}
