// In bf16 attention goes by tensor cores: a warp owns 16 rows of a block of 128 queries (backward: 64 queries or keys), and
// meets the others in tiles of workgroup memory, into which they are copied asynchronously. The backward is two launches, so that each sum is made in one place: dq by queries, dk and
// dv by keys. Nothing is added atomically, and no array lies in private memory.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining %s | FileCheck %s --check-prefix=NOT
//
// NOT-NOT: atomic
// NOT-NOT: memref.alloca

func.func @step(%q: tensor<1x200x256xbf16>, %k: tensor<1x200x128xbf16>, %v: tensor<1x200x128xbf16>, %d: tensor<1x200x256xbf16>)
    -> (tensor<1x200x256xbf16>, tensor<1x4x200xf32>, tensor<1x200x256xbf16>, tensor<1x200x128xbf16>, tensor<1x200x128xbf16>)
    attributes {llm.arena = 320000 : i64} {
  %o, %l = llm.attention %q, %k, %v {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.125 : f64, llm.offsets = array<i64: 0, 102400>}
    : (tensor<1x200x256xbf16>, tensor<1x200x128xbf16>, tensor<1x200x128xbf16>) -> (tensor<1x200x256xbf16>, tensor<1x4x200xf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %d
      {heads = 4 : i64, kv_heads = 2 : i64, scale = 0.125 : f64, llm.offsets = array<i64: 105728, 208128, 259328>, llm.workspace = array<i64: 310528, 3200>}
    : (tensor<1x200x256xbf16>, tensor<1x200x128xbf16>, tensor<1x200x128xbf16>, tensor<1x200x256xbf16>, tensor<1x4x200xf32>, tensor<1x200x256xbf16>)
   -> (tensor<1x200x256xbf16>, tensor<1x200x128xbf16>, tensor<1x200x128xbf16>)
  return %o, %l, %dq, %dk, %dv
    : tensor<1x200x256xbf16>, tensor<1x4x200xf32>, tensor<1x200x256xbf16>, tensor<1x200x128xbf16>, tensor<1x200x128xbf16>
}

// 4 heads of 200 queries are 8 blocks; a tile of 64 keys and one of 64 values, where the queries were before.
// CHECK-LABEL: gpu.func @kernel_0_attention_kernel(
// CHECK-SAME: workgroup(%{{.*}} : memref<8192xbf16, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// The first keys are copied before the loop. In it, values while scores are computed, then the next keys while values are
// multiplied, which ldmatrix turns.
// CHECK: nvgpu.device_async_copy %{{.*}} : memref<25600xbf16>
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// CHECK: nvgpu.device_async_copy %{{.*}} : memref<25600xbf16>
// CHECK: nvgpu.ldmatrix {{.*}}transpose = false
// CHECK: nvvm.mma.sync
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: nvgpu.device_async_copy %{{.*}} : memref<25600xbf16>
// CHECK: gpu.shuffle xor
// Powers of two, without a bound that no score less the largest meets.
// CHECK: arith.maximumf
// CHECK: math.fma
// CHECK: nvgpu.ldmatrix {{.*}}transpose = true
// CHECK: nvvm.mma.sync
// CHECK: scf.yield

// By queries: scores, dout . value, dq.
// CHECK-LABEL: gpu.func @kernel_1_attention_grad_kernel(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK: nvvm.mma.sync

// By keys: 2 heads of them, in 8 blocks.
// CHECK-LABEL: gpu.func @kernel_1_attention_grad_kernel_0(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK: nvvm.mma.sync
