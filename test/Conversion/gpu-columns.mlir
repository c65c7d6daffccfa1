// A block takes 32 bytes of every row, or 16 where there would be fewer blocks than multiprocessors, and 512 threads share the
// rows; each loads up to eight rows before it adds the first, and each addition keeps its error. Sums meet by shuffles among threads
// of one column, and then, in the block's memory, among its warps, in a tree. Few rows of many columns are a thread's.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%dy: tensor<8192x776xbf16>, %p: tensor<4x256x64xf32>, %wide: tensor<600x2120xbf16>) -> (tensor<776xbf16>, tensor<300x64xf32>, tensor<2120xbf16>)
    attributes {llm.arena = 90112 : i64} {
  %b = llm.sum_rows %dy {llm.offsets = array<i64: 0>} : (tensor<8192x776xbf16>) -> tensor<776xbf16>
  %t = llm.positions_grad %p {llm.offsets = array<i64: 2048>} : (tensor<4x256x64xf32>) -> tensor<300x64xf32>
  %w = llm.sum_rows %wide {llm.offsets = array<i64: 81920>} : (tensor<600x2120xbf16>) -> tensor<2120xbf16>
  return %b, %t, %w : tensor<776xbf16>, tensor<300x64xf32>, tensor<2120xbf16>
}

// CHECK: gpu.func @kernel_0_sum_rows_kernel(
// CHECK-SAME: workgroup(%[[PARTS:.*]] : memref<272xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 97, 1, 1>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8192 step %c4096 iter_args
// CHECK-NOT: arith.addf
// CHECK-COUNT-8: vector.load {{.*}} vector<8xbf16>
// CHECK: arith.addf
// CHECK-NOT: vector.load
// CHECK-COUNT-80: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-16: memref.store {{.*}} %[[PARTS]]
// CHECK: gpu.barrier
// CHECK-COUNT-2: memref.load %[[PARTS]]
// CHECK-COUNT-8: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store {{.*}} : memref<776xbf16>

// CHECK: gpu.func @kernel_1_positions_grad_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK-NOT: gpu.shuffle
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: vector.store {{.*}} vector<4xf32>
// Positions that no sequence reaches have no gradient.
// CHECK: gpu.func @kernel_1_positions_grad_kernel_0(
// CHECK-SAME: known_grid_size = array<i32: 6, 1, 1>

// Two vectors of a row. The last block has one of them: threads of the other sum nothing, but shuffle along. Rows that are not
// as many for each thread are added one by one.
// CHECK: gpu.func @kernel_2_sum_rows_kernel(
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 133, 1, 1>
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %c2120
// CHECK: %[[ROWS:.*]] = arith.select %[[EXISTS]], %c600, %c0
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step %c256 iter_args
// CHECK-COUNT-64: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-COUNT-8: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
