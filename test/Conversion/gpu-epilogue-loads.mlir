// What follows a product by wgmma loads for eight parts of a tile, here all of it, before it stores the first of them, and computes an activation
// of 16 bits without a division, which would branch.
//
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu tensor-cores=warpgroup" --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%dy: tensor<128x64xbf16>, %w: tensor<128x64xbf16>, %h: tensor<128x128xbf16>) -> tensor<128x128xbf16>
    attributes {llm.arena = 32768 : i64} {
  %dh = llm.kernel(%i = %dy, %m = %w, %v = %h) : (tensor<128x64xbf16>, tensor<128x64xbf16>, tensor<128x128xbf16>) -> tensor<128x128xbf16> {
    %p = llm.linear %i, %m layout(out_in) : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x128xbf16>
    %g = llm.gelu_grad %v, %p : tensor<128x128xbf16>
    llm.yield %g : tensor<128x128xbf16>
  } attributes {llm.offsets = array<i64: 0>}
  return %dh : tensor<128x128xbf16>
}

// CHECK-LABEL: gpu.func @kernel_0_linear_gelu_grad_kernel(
// CHECK-SAME: %{{.*}}: memref<8192xbf16>, %{{.*}}: memref<8192xbf16>, %[[H:[^:]*]]: memref<16384xbf16>, %[[DH:[^:]*]]: memref<16384xbf16>)
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: vector.store
// CHECK-COUNT-8: vector.load %[[H]]
// CHECK-NOT: vector.load
// CHECK: nvvm.rcp.approx.ftz.f
// CHECK-NOT: arith.divf
// CHECK-COUNT-8: vector.store %{{.*}}, %[[DH]]
// The rest copies the result out.
// CHECK: gpu.func @kernel_1_copy_kernel(
