// The loss is a launch over rows and one block for their mean; its gradient a launch, in which each thread makes its
// elements whole, so that nobody reads or writes another's.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%x: tensor<2x8x50257xbf16>, %t: tensor<2x8xi32>, %one: tensor<f32>)
    -> (tensor<f32>, tensor<2x8x50257xbf16>) attributes {llm.arena = 1609216 : i64} {
  %loss, %lse = llm.cross_entropy %x, %t {llm.offsets = array<i64: 0, 256>}
    : (tensor<2x8x50257xbf16>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  %dx = llm.cross_entropy_grad %x, %lse, %t, %one {llm.offsets = array<i64: 512>}
    : (tensor<2x8x50257xbf16>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>) -> tensor<2x8x50257xbf16>
  return %loss, %dx : tensor<f32>, tensor<2x8x50257xbf16>
}

// CHECK: gpu.func @kernel_0_cross_entropy_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK: math.log
// CHECK: memref.store {{.*}} : memref<16xf32>
// CHECK: gpu.func @kernel_0_cross_entropy_kernel_0(
// CHECK-SAME: known_grid_size = array<i32: 1, 1, 1>
// CHECK: memref.store {{.*}} : memref<1xf32>

// CHECK: gpu.func @kernel_1_cross_entropy_grad_kernel(
// CHECK-SAME: known_grid_size = array<i32: 16, 1, 1>
// CHECK: %[[HIT:.*]] = arith.cmpi eq, {{.*}} : vector<8xi64>
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: arith.select %[[HIT]]
// CHECK: vector.store {{.*}} vector<8xbf16>
