// A block takes 32 bytes of every row, and 1024 threads share the rows; each addition keeps its error. Sums meet by
// shuffles among threads of one column, and then in the block's memory in the order of the warps. Few rows of many
// columns are a thread's.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%dy: tensor<2048x776xbf16>, %p: tensor<4x256x64xf32>) -> (tensor<776xbf16>, tensor<300x64xf32>)
    attributes {llm.arena = 81920 : i64} {
  %b = llm.sum_rows %dy {llm.offsets = array<i64: 0>} : (tensor<2048x776xbf16>) -> tensor<776xbf16>
  %t = llm.positions_grad %p {llm.offsets = array<i64: 2048>} : (tensor<4x256x64xf32>) -> tensor<300x64xf32>
  return %b, %t : tensor<776xbf16>, tensor<300x64xf32>
}

// CHECK: gpu.func @kernel_0_sum_rows_kernel(
// CHECK-SAME: workgroup(%[[PARTS:.*]] : memref<1024xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 1024, 1, 1>, known_grid_size = array<i32: 49, 1, 1>
// The last block has one vector of columns: threads of the other sum nothing, but shuffle along.
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %c776
// CHECK: %[[ROWS:.*]] = arith.select %[[EXISTS]], %c2048, %c0
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step %c512 iter_args
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK-COUNT-64: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: vector.store {{.*}} %[[PARTS]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK: vector.store {{.*}} : memref<776xbf16>, vector<8xbf16>

// CHECK: gpu.func @kernel_1_positions_grad_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK-NOT: gpu.shuffle
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: vector.store {{.*}} vector<4xf32>
// Positions that no sequence reaches have no gradient.
// CHECK: gpu.func @kernel_1_positions_grad_kernel_0(
// CHECK-SAME: known_grid_size = array<i32: 6, 1, 1>
