// Products of bf16 go by tensor cores, a block of eight warps for each tile of 128 (64) rows and columns. While a step of 32
// terms is multiplied, factors of the next two are copied to workgroup memory: asynchronously in 16 bytes where rows begin at
// multiples of that, else one element after another.
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

// Three stages of tiles of 128 x 32 and 64 x 32.
// CHECK-LABEL: gpu.func @kernel_0_linear_kernel(
// CHECK-SAME: workgroup(%{{.*}} : memref<36864xi8, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// Two steps ahead of the loop, each a group. Beyond the last row nothing is read.
// CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8, %{{.*}} {bypassL1} : memref<7200xbf16> to memref<18432xbf16, #gpu.address_space<workgroup>>
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvgpu.device_async_copy
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// All but the newest group are there; one barrier a step.
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: nvgpu.device_async_copy {{.*}} memref<7200xbf16>
// CHECK: nvgpu.device_async_copy {{.*}} memref<3600xbf16>
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: gpu.barrier
// CHECK: nvgpu.ldmatrix {{.*}}transpose = false} : memref<18432xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// The bias is added to pairs before they are rounded.
// CHECK: vector.load %{{.*}} : memref<50xbf16>, vector<2xbf16>
// CHECK: vector.store %{{.*}} : memref<5000xbf16>, vector<2xbf16>

// Rows of 57 begin at odd places. Columns of the other factor lie in workgroup memory as in their matrix, and ldmatrix
// turns them.
// CHECK-LABEL: gpu.func @kernel_1_linear_kernel(
// CHECK: scf.for
// CHECK: memref.load %{{.*}} : memref<1881xbf16>
// CHECK: memref.store
// CHECK: nvgpu.device_async_copy {{.*}} memref<3648xbf16>
// CHECK: nvgpu.ldmatrix {{.*}}transpose = true
// CHECK: nvvm.mma.sync
