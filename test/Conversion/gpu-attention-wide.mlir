// Without tensor cores attention is a launch of a block for each block of queries, and its gradient one by queries and one by keys. Nothing is
// as long as the sequence: panels lie in the block's memory, and the rest in registers.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | FileCheck %s --check-prefix=STACK
//
// STACK-NOT: memref.alloc
// STACK-NOT: atomic

func.func @step(%q: tensor<1x8192x1024xf32>, %k: tensor<1x8192x256xf32>, %v: tensor<1x8192x256xf32>)
    -> (tensor<1x8192x1024xf32>, tensor<1x8192x256xf32>, tensor<1x8192x256xf32>)
    attributes {llm.arena = 84672512 : i64} {
  %o, %l = llm.attention %q, %k, %v {heads = 8 : i64, kv_heads = 2 : i64, scale = 0.088 : f64, llm.offsets = array<i64: 0, 33554432>}
    : (tensor<1x8192x1024xf32>, tensor<1x8192x256xf32>, tensor<1x8192x256xf32>) -> (tensor<1x8192x1024xf32>, tensor<1x8x8192xf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %o {heads = 8 : i64, kv_heads = 2 : i64, scale = 0.088 : f64,
      llm.offsets = array<i64: 33816576, 67371008, 75759616>, llm.workspace = array<i64: 84148224, 262144>}
    : (tensor<1x8192x1024xf32>, tensor<1x8192x256xf32>, tensor<1x8192x256xf32>, tensor<1x8192x1024xf32>, tensor<1x8x8192xf32>, tensor<1x8192x1024xf32>)
    -> (tensor<1x8192x1024xf32>, tensor<1x8192x256xf32>, tensor<1x8192x256xf32>)
  return %dq, %dk, %dv : tensor<1x8192x1024xf32>, tensor<1x8192x256xf32>, tensor<1x8192x256xf32>
}

// 8 heads of 256 blocks of 32 queries; 39424 bytes.
// CHECK: gpu.func @kernel_0_attention_kernel(
// CHECK-SAME: memref<4352xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<4352xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<1152xf32, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2048, 1, 1>
// CHECK: gpu.func @kernel_1_attention_grad_kernel(
// CHECK-SAME: known_grid_size = array<i32: 4096, 1, 1>
// CHECK: gpu.func @kernel_1_attention_grad_kernel_0(
// CHECK-SAME: known_grid_size = array<i32: 1024, 1, 1>
