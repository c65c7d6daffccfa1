// Products of bf16 go by tensor cores, a block of eight warps for each tile of 128 (64) rows and columns. Factors are
// read in vectors of 128 bits where rows begin at multiples of 16 bytes, else one by one.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%x: tensor<100x72xbf16>, %w: tensor<50x72xbf16>, %b: tensor<50xbf16>, %o: tensor<33x57xbf16>, %t: tensor<57x64xbf16>)
    -> (tensor<100x50xbf16>, tensor<33x64xbf16>)
    attributes {llm.arena = 16384 : i64} {
  %y = llm.linear %x, %w bias(%b) layout(out_in) {llm.offsets = array<i64: 0>}
    : (tensor<100x72xbf16>, tensor<50x72xbf16>, tensor<50xbf16>) -> tensor<100x50xbf16>
  %z = llm.linear %o, %t layout(in_out) {llm.offsets = array<i64: 10240>} : (tensor<33x57xbf16>, tensor<57x64xbf16>) -> tensor<33x64xbf16>
  return %y, %z : tensor<100x50xbf16>, tensor<33x64xbf16>
}

// CHECK-LABEL: gpu.func @kernel_0_linear_kernel(
// CHECK-SAME: workgroup(%[[A:.*]] : memref<5120xbf16, #gpu.address_space<workgroup>>, %[[B:.*]] : memref<2560xbf16, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.for %{{.*}} = %c0 to %c72 step %c32
// CHECK: gpu.barrier
// CHECK: vector.load %{{.*}} : memref<7200xbf16>, vector<8xbf16>
// CHECK: vector.store %{{.*}}, %[[A]]
// CHECK: vector.load %{{.*}} : memref<3600xbf16>, vector<8xbf16>
// CHECK: vector.store %{{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// The bias is added to pairs before they are rounded.
// CHECK: vector.load %{{.*}} : memref<50xbf16>, vector<2xbf16>
// CHECK: vector.store %{{.*}} : memref<5000xbf16>, vector<2xbf16>

// Rows of 57 begin at odd places; columns of the other factor are turned on their way to workgroup memory.
// CHECK-LABEL: gpu.func @kernel_1_linear_kernel(
// CHECK: memref.load %{{.*}} : memref<1881xbf16>
// CHECK: vector.load %{{.*}} : memref<3648xbf16>, vector<8xbf16>
// CHECK-NEXT: scf.yield
// CHECK: memref.store %{{.*}} : memref<2560xbf16, #gpu.address_space<workgroup>>
// CHECK: nvvm.mma.sync
