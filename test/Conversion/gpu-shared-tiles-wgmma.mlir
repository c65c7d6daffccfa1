// A weight of 768 x 2304 has 108 tiles of 128 x 128, which are copied slower than they are multiplied. Where tensor maps bring tiles, two pairs of
// blocks of a cluster, of which each shares one operand, share out the terms of 60 tiles of 128 x 240. Neither needs a workspace.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup" --gpu-kernel-outlining %t.mlir | FileCheck %s --check-prefix=THREADS
//
// PLAN: llm.linear_weight_grad {{.*}}workspace = 0>
//
// CHECK-LABEL: gpu.func @kernel_0_linear_weight_grad_kernel(
// CHECK-SAME: known_grid_size = array<i32: 120, 1, 1>
// CHECK: llvm.llmmem.tensor.map.bf16"({{.*}}) {map = array<i64: 0, 8192, 768, 768, 64>}
// CHECK: llvm.llmmem.tensor.map.bf16"({{.*}}) {map = array<i64: 0, 8192, 2304, 2304, 32>}
// CHECK: nvvm.cluster.arrive {aligned, llm.cluster_blocks = 4 : i32}
// CHECK: multicast_mask
// CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 240, k = 16>
// CHECK-NOT: gpu.func @kernel_0_linear_weight_grad_kernel_0(
//
// THREADS: gpu.func @kernel_0_linear_weight_grad_kernel(
// THREADS-SAME: known_grid_size = array<i32: 108, 1, 1>
// THREADS-NOT: nvvm.cluster
// THREADS-NOT: gpu.func @kernel_0_linear_weight_grad_kernel_0(
//
// Other tiles and no sharing, to measure them: 72 of 128 x 192, each of two blocks.
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma tile=128x192 tile-sharing=never" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s --check-prefix=TILE
// TILE: gpu.func @kernel_0_linear_weight_grad_kernel(
// TILE-SAME: known_grid_size = array<i32: 144, 1, 1>
// TILE-NOT: multicast_mask
// TILE: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 192, k = 16>
// TILE: nvvm.cluster.arrive {aligned, llm.cluster_blocks = 2 : i32}
//
// RUN: not llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup tile=192x128" %t.mlir 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: cannot be converted with tile=192x128: products by wgmma have no such tiles; expected 256x192, 128x256, 256x128, 128x192, 128x128, 256x64, 128x64, 256x160, 128x240, 128x160
func.func @step(%x: tensor<8192x768xbf16>, %dy: tensor<8192x2304xbf16>) -> tensor<768x2304xbf16> {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x2304xbf16>) -> tensor<768x2304xbf16>
  return %dw : tensor<768x2304xbf16>
}
