// A weight of 768 x 768 has 36 tiles of 128 x 128, and 24 of 128 x 192: by wgmma five parts of 1664 of 8192 tokens have blocks of their
// own, whose sums a second kernel adds, by mma.sync three. The plan is of no chip: workspace 5 * 768 * 768 * 4 = 11796480 bytes. With tensor maps
// four blocks of a cluster share out the terms of each of 30 tiles of 128 x 160, and add their sums: one launch, which does not use it.
//
// RUN: llmmem-opt --checkpoint-policy=none %s -o %t.mlir 2> %t.err
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma" --gpu-kernel-outlining --canonicalize --cse %t.mlir | FileCheck %s --check-prefix=MAPS
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
// MAPS: gpu.launch_func @kernels::@kernel_0_linear_weight_grad_kernel blocks in (%c120, {{.*}} args(%arg0 : memref<6291456xbf16>, %arg1 : memref<6291456xbf16>, %arg2 : memref<589824xbf16>)
// MAPS-NOT: gpu.launch_func @kernels::@kernel_0
// MAPS: gpu.func @kernel_0_linear_weight_grad_kernel(
// MAPS: llvm.llmmem.tensor.map.bf16"({{.*}}) {map = array<i64: 0, 8192, 768, 768, 64>}
// MAPS: llvm.llmmem.tensor.map.bf16"({{.*}}) {map = array<i64: 0, 8192, 768, 768, 32>}
// MAPS: nvvm.cluster.arrive {aligned, llm.cluster_blocks = 8 : i32}
// MAPS: scf.for %{{.*}} = %c0 to %c32 step
// MAPS: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 160, k = 16>
// MAPS: nvvm.cluster.arrive
// MAPS-COUNT-15: llvm.load {{.*}} : !llvm.ptr<7> -> vector<4xf32>
// MAPS: nvvm.cluster.arrive
// MAPS-NOT: gpu.func @kernel_0
//
// WARP: gpu.func @kernel_0_linear_weight_grad_kernel(
// WARP-SAME: known_grid_size = array<i32: 108, 1, 1>
// WARP: gpu.func @kernel_0_linear_weight_grad_kernel_0(
func.func @step(%x: tensor<8192x768xbf16>, %dy: tensor<8192x768xbf16>) -> tensor<768x768xbf16> {
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x768xbf16>) -> tensor<768x768xbf16>
  return %dw : tensor<768x768xbf16>
}
