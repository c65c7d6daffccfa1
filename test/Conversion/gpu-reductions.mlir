// Where all of a tensor meets: the norm of gradients in two stages over the planned workspace, the gradient of a table by
// the rows of a block, angles once for all heads.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%g: tensor<4100x256xbf16>, %h: tensor<100xbf16>, %ids: tensor<2x32xi32>, %dy: tensor<2x32x64xbf16>)
    -> (tensor<f32>, tensor<500x64xbf16>, tensor<2x32x64xbf16>) attributes {llm.arena = 81920 : i64} {
  %n = llm.global_norm %g, %h {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 1032>}
    : (tensor<4100x256xbf16>, tensor<100xbf16>) -> tensor<f32>
  %t = llm.embedding_grad %ids, %dy {llm.offsets = array<i64: 1536>} : (tensor<2x32xi32>, tensor<2x32x64xbf16>) -> tensor<500x64xbf16>
  %r = llm.rope %dy {heads = 4 : i64, theta = 10000.0 : f64, llm.offsets = array<i64: 65792>} : tensor<2x32x64xbf16>
  return %n, %t, %r : tensor<f32>, tensor<500x64xbf16>, tensor<2x32x64xbf16>
}

// 256 pieces and what is left are 257 parts, 100 elements another: one launch, whose blocks find their operand.
// CHECK: gpu.func @kernel_0_global_norm_kernel(%[[G:.*]]: memref<1049600xbf16>, %[[H:.*]]: memref<100xbf16>,
// CHECK-SAME: known_grid_size = array<i32: 258, 1, 1>
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi slt, %{{.*}}, %c257
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: memref.cast %[[G]] : memref<1049600xbf16> to memref<?xbf16>
// CHECK: } else {
// CHECK: memref.cast %[[H]] : memref<100xbf16> to memref<?xbf16>
// CHECK: gpu.func @kernel_0_global_norm_kernel_0(
// CHECK-SAME: known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c258 step %c256
// CHECK: math.sqrt

// One launch: a block has 64 of the 500 rows, each 8 after the last. It lists who looks them up, sorts the list by row,
// and writes each row once, four terms on their way at a time.
// CHECK: gpu.func @kernel_1_embedding_grad_kernel(
// CHECK-SAME: workgroup(%[[LISTED:[a-z0-9]+]] : memref<64xi32, #gpu.address_space<workgroup>>, %[[SORTED:[a-z0-9]+]] :
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 8, 1, 1>
// CHECK: vector.load %{{.*}} : memref<64xi32>, vector<4xi32>
// CHECK: memref.store %{{.*}}, %[[LISTED]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[SORTED]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} step %c4 iter_args
// CHECK-COUNT-4: vector.load %{{.*}} : memref<4096xbf16>, vector<8xbf16>
// CHECK-COUNT-5: arith.addf
// CHECK: vector.store %{{.*}} : memref<32000xbf16>, vector<8xbf16>
// CHECK-NOT: gpu.func @kernel_1_embedding_grad_kernel_0(

// CHECK: gpu.func @kernel_2_rope_kernel(
// CHECK-SAME: workgroup(%[[COSINES:.*]] : memref<8xf32, {{.*}}>, %[[SINES:.*]] : memref<8xf32, {{.*}}>)
// CHECK-SAME: known_grid_size = array<i32: 32, 1, 1>
// CHECK: memref.get_global @table_0
// CHECK: math.sin
// CHECK: gpu.barrier
// CHECK: vector.load %{{.*}} : memref<4096xbf16>, vector<8xbf16>
// CHECK: memref.global "private" constant @table_0
