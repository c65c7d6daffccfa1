// Sums over rows on sm_90a: a block reads lines of 128 bytes, 64 columns of bf16, and a cluster shares the rows. 768 columns are 12
// lines, so 96 blocks in clusters of eight, alone on their multiprocessors with 512 threads; 3072 are 48, so 384 blocks of 256.
// Elsewhere there are no clusters, and a block reads 16 bytes of each row, or 32.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup-tma" --gpu-kernel-outlining --canonicalize %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize %s | FileCheck %s --check-prefix=SECTORS --implicit-check-not=cluster
//
// CHECK: gpu.func @kernel_0_sum_rows_kernel({{.*}}known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 96, 1, 1>
// CHECK: nvvm.cluster.arrive {{.*}}llm.cluster_blocks = 8 : i32
// CHECK: nvvm.cluster.wait
// CHECK-COUNT-14: llvm.load {{.*}} !llvm.ptr<7> -> f32
// CHECK: nvvm.cluster.arrive {{.*}}llm.cluster_blocks = 8 : i32
// CHECK: gpu.func @kernel_1_sum_rows_kernel({{.*}}known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 384, 1, 1>
//
// SECTORS: gpu.func @kernel_0_sum_rows_kernel({{.*}}known_grid_size = array<i32: 96, 1, 1>
// SECTORS: gpu.func @kernel_1_sum_rows_kernel({{.*}}known_grid_size = array<i32: 192, 1, 1>
func.func @step(%x: tensor<8192x768xbf16>, %y: tensor<8192x3072xbf16>) -> (tensor<768xbf16>, tensor<3072xbf16>)
    attributes {llm.arena = 16384 : i64} {
  %0 = llm.sum_rows %x {llm.offsets = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %1 = llm.sum_rows %y {llm.offsets = array<i64: 4096>} : (tensor<8192x3072xbf16>) -> tensor<3072xbf16>
  return %0, %1 : tensor<768xbf16>, tensor<3072xbf16>
}
