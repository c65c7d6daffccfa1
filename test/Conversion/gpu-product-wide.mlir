// A product is one launch of a block for each tile of the result. Strips of the factors go through the block's memory,
// and every element is one chain of fused multiply-adds.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%x: tensor<130x768xf32>, %w: tensor<768x192xf32>, %b: tensor<192xf32>) -> tensor<130x192xf32>
    attributes {llm.arena = 100096 : i64} {
  %y = llm.linear %x, %w bias(%b) layout(in_out) {llm.offsets = array<i64: 0>}
    : (tensor<130x768xf32>, tensor<768x192xf32>, tensor<192xf32>) -> tensor<130x192xf32>
  return %y : tensor<130x192xf32>
}

// Three tiles down, three across.
// CHECK: gpu.func @kernel_0_linear_kernel(
// CHECK-SAME: workgroup(%[[A:.*]] : memref<1088xf32, #gpu.address_space<workgroup>>, %[[B:.*]] : memref<1088xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 9, 1, 1>
// CHECK: scf.for %{{.*}} = %c0 to %c768 step %c16
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}}, %[[A]]
// CHECK: memref.store {{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1
// CHECK: vector.load %[[A]]
// CHECK: vector.load %[[B]]
// CHECK-COUNT-4: math.fma {{.*}} : vector<4xf32>
// CHECK-NOT: math.fma
// The bias, and whole vectors of the result.
// CHECK: vector.load {{.*}} : memref<192xf32>, vector<4xf32>
// CHECK: vector.store {{.*}} : memref<24960xf32>, vector<4xf32>
