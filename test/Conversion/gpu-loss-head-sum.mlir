// Generated code sums the gradient of the weight of a whole chunk in one launch, four granules of 512 tokens or two, with no loop
// of the host over granules. Where a chunk is all tokens the sums stay in registers: nothing begins the accumulator or makes dw
// of it, and sums begin with 0. Else a launch goes on from the accumulator's halves, before anything is multiplied.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | FileCheck %s
//
// CHECK-LABEL: func.func private @kernel_0_loss_head(
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_0_loss_head_kernel_1 blocks in (%c8
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_0_loss_head_kernel_2
// CHECK: gpu.launch_func @kernels::@kernel_0_loss_head_kernel_3
// CHECK-NOT: gpu.launch_func
//
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel_1(
// CHECK-NOT: arith.shli
// CHECK: nvvm.mma.sync
// CHECK-LABEL: gpu.func @kernel_0_loss_head_kernel_2(
//
// CHECK-LABEL: gpu.func @kernel_1_loss_head_kernel_2(
// CHECK: arith.shli
// CHECK: scf.for
// CHECK: nvvm.mma.sync
//
// CHECK-LABEL: func.func private @kernel_1_loss_head(
// CHECK: gpu.launch_func @kernels::@kernel_1_loss_head_kernel blocks
// CHECK: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_1_loss_head_kernel_2 blocks in (%c8
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @kernels::@kernel_1_loss_head_kernel_4
func.func @step(%x: tensor<2048x64xbf16>, %w: tensor<1001x64xbf16>, %t: tensor<2048xi32>)
    -> (tensor<1001x64xbf16>, tensor<1001x64xbf16>) attributes {llm.arena = 33554432 : i64} {
  %loss, %dx, %dw = llm.loss_head %x, %w, %t layout(out_in) {chunk = 2048 : i64,
      llm.offsets = array<i64: 0, 1048576, 2097152>, llm.workspace = array<i64: 8388608, 8388608>}
    : (tensor<2048x64xbf16>, tensor<1001x64xbf16>, tensor<2048xi32>) -> (tensor<f32>, tensor<2048x64xbf16>, tensor<1001x64xbf16>)
  %m, %ex, %ew = llm.loss_head %x, %w, %t layout(out_in) {chunk = 1024 : i64,
      llm.offsets = array<i64: 256, 3145728, 4194304>, llm.workspace = array<i64: 8388608, 8388608>}
    : (tensor<2048x64xbf16>, tensor<1001x64xbf16>, tensor<2048xi32>) -> (tensor<f32>, tensor<2048x64xbf16>, tensor<1001x64xbf16>)
  return %dw, %ew : tensor<1001x64xbf16>, tensor<1001x64xbf16>
}
