// A weight of 768 x 2304 has 108 tiles of 128 x 128, which mma.sync computes as they are, and 36 of 256 x 192, a third of 132
// multiprocessors: by wgmma three parts of 2752 of 8192 tokens have blocks of their own, whose sums a second kernel adds. The plan is of
// no chip: workspace 3 * 768 * 2304 * 4 = 21233664 bytes.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warp" --gpu-kernel-outlining %t.mlir | FileCheck %s --check-prefix=WARP
//
// PLAN: llm.linear_weight_grad {{.*}}workspace = 21233664>
//
// CHECK-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel(
// CHECK-SAME: known_grid_size = array<i32: 108, 1, 1>
// CHECK: nvvm.wgmma.mma_async
// CHECK: vector.store {{.*}} memref<5308416xf32>, vector<4xf32>
// CHECK-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel_0(
// CHECK-COUNT-3: vector.load {{.*}} memref<5308416xf32>
// CHECK-NOT: vector.load
// CHECK: vector.store {{.*}} memref<1769472xbf16>
//
// WARP: gpu.func @kernel_0_linear_weight_grad_kernel(
// WARP-SAME: known_grid_size = array<i32: 108, 1, 1>
// WARP-NOT: gpu.func @kernel_0_linear_weight_grad_kernel_0(
func.func @step(%x: tensor<8192x768xbf16>, %dy: tensor<8192x2304xbf16>) -> tensor<768x2304xbf16> {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x2304xbf16>) -> tensor<768x2304xbf16>
  return %dw : tensor<768x2304xbf16>
}
