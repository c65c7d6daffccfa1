// On a GPU a team of threads shares a row: a warp where it is short, a block where it is long. Each thread takes every
// 32nd (256th) vector of 128 bits, and keeps those of a row that is not too long in registers. Sums meet in a tree of
// shuffles and, between warps, in workgroup memory, and one thread stores what there is one of.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | FileCheck %s --check-prefix=STACK
//
// STACK-NOT: memref.alloc

func.func @step(%x: tensor<60x512xbf16>, %l: tensor<6x4096xf32>, %w: tensor<4096xf32>, %p: tensor<4x50257xbf16>,
                %q: tensor<3x20xbf16>)
    -> (tensor<60x512xbf16>, tensor<6x4096xf32>, tensor<6xf32>, tensor<4x50257xbf16>, tensor<3x8xbf16>, tensor<3x12xbf16>)
    attributes {llm.arena = 1024000 : i64} {
  %a = llm.softmax %x {llm.offsets = array<i64: 0>} : tensor<60x512xbf16>
  %b, %r = llm.rms_norm %l, %w {eps = 1.0e-5 : f64, llm.offsets = array<i64: 102400, 204800>}
    : (tensor<6x4096xf32>, tensor<4096xf32>) -> (tensor<6x4096xf32>, tensor<6xf32>)
  %c = llm.softmax %p {llm.offsets = array<i64: 409600>} : tensor<4x50257xbf16>
  %d, %e = llm.split %q {llm.offsets = array<i64: 921600, 922624>} : (tensor<3x20xbf16>) -> (tensor<3x8xbf16>, tensor<3x12xbf16>)
  return %a, %b, %r, %c, %d, %e
    : tensor<60x512xbf16>, tensor<6x4096xf32>, tensor<6xf32>, tensor<4x50257xbf16>, tensor<3x8xbf16>, tensor<3x12xbf16>
}

// Eight warps with a row each; in the last block four of them have none.
// CHECK: gpu.func @kernel_0_softmax_kernel(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK: %[[WARP:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK: arith.cmpi slt, %{{.*}}, %c60
// CHECK-NOT: scf.for
// CHECK-COUNT-2: vector.load {{.*}} vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK: gpu.shuffle xor
// CHECK-NOT: vector.load
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-2: vector.store {{.*}} vector<8xbf16>

// CHECK: gpu.func @kernel_1_rms_norm_kernel(
// CHECK-SAME: workgroup(%[[SLOTS:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 6, 1, 1>
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK-COUNT-4: vector.load {{.*}} vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[SLOTS]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.load %[[SLOTS]]
// CHECK-COUNT-4: vector.store {{.*}} vector<4xf32>
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK: scf.if %[[IS_FIRST]]
// CHECK-NEXT: memref.store {{.*}} : memref<6xf32>

// Rows of an odd pitch begin between the places of vectors: single elements up to the first, and after the last.
// CHECK: gpu.func @kernel_2_softmax_kernel(
// CHECK: %[[BEGIN:.*]] = arith.muli %{{.*}}, %c50257
// CHECK: arith.remui %[[BEGIN]], %c8
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: memref.load {{.*}} : memref<201028xbf16>

// From column 8 of rows of 20 on, 12 columns are three vectors of four.
// CHECK: gpu.func @kernel_3_split_kernel(
// CHECK: vector.store {{.*}} vector<4xbf16>
// CHECK: gpu.func @kernel_3_split_kernel_0(
// CHECK: scf.for %{{.*}} = %{{.*}} to %c3 step %c32
// CHECK: vector.store {{.*}} vector<4xbf16>
