// A weight of 768 x 768 has 36 tiles of 128 x 128, and 24 of 128 x 192: by wgmma five parts of 1664 of 8192 tokens have blocks of their
// own, whose sums a second kernel adds, by mma.sync three. The plan is of no chip: workspace 5 * 768 * 768 * 4 = 11796480 bytes.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warp" --gpu-kernel-outlining %t.mlir | FileCheck %s --check-prefix=WARP
//
// PLAN: llm.linear_weight_grad {{.*}}workspace = 11796480>
//
// CHECK-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel(
// CHECK-SAME: known_grid_size = array<i32: 120, 1, 1>
// CHECK: nvvm.wgmma.mma_async
// CHECK: vector.store {{.*}} memref<2949120xf32>, vector<4xf32>
// CHECK-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel_0(
// CHECK-COUNT-5: vector.load {{.*}} memref<2949120xf32>
// CHECK-NOT: vector.load
// CHECK: vector.store {{.*}} memref<589824xbf16>
//
// WARP: gpu.func @kernel_0_linear_weight_grad_kernel(
// WARP-SAME: known_grid_size = array<i32: 108, 1, 1>
// WARP: gpu.func @kernel_0_linear_weight_grad_kernel_0(
func.func @step(%x: tensor<8192x768xbf16>, %dy: tensor<8192x768xbf16>) -> tensor<768x768xbf16> {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x768xbf16>) -> tensor<768x768xbf16>
  return %dw : tensor<768x768xbf16>
}
