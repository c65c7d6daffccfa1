// On a GPU each thread of a product computes what follows on its own elements, pairs by tensor cores, in one launch. What is
// read in addition to the product is read once, and a product that only the epilogue reads is in no memory.
//
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --gpu-kernel-outlining --canonicalize --cse %s | FileCheck %s

func.func @step(%dy: tensor<128x64xbf16>, %w: tensor<96x64xbf16>, %h: tensor<128x96xbf16>) -> tensor<128x96xbf16>
    attributes {llm.arena = 24576 : i64} {
  %dh = llm.kernel(%i = %dy, %m = %w, %v = %h) : (tensor<128x64xbf16>, tensor<96x64xbf16>, tensor<128x96xbf16>) -> tensor<128x96xbf16> {
    %p = llm.linear %i, %m layout(out_in) : (tensor<128x64xbf16>, tensor<96x64xbf16>) -> tensor<128x96xbf16>
    %g = llm.gelu_grad %v, %p : tensor<128x96xbf16>
    llm.yield %g : tensor<128x96xbf16>
  } attributes {llm.offsets = array<i64: 0>}
  return %dh : tensor<128x96xbf16>
}

// CHECK-LABEL: gpu.func @kernel_0_linear_gelu_grad_kernel(
// CHECK-SAME: %{{.*}}: memref<8192xbf16>, %{{.*}}: memref<6144xbf16>, %[[H:[^:]*]]: memref<12288xbf16>, %[[DH:[^:]*]]: memref<12288xbf16>)
// CHECK: nvvm.mma.sync
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: vector.load %[[H]][%{{.*}}] : memref<12288xbf16>, vector<2xbf16>
// CHECK: arith.extf %[[ROUNDED]] : vector<2xbf16> to vector<2xf32>
// CHECK-NOT: math.tanh
// CHECK: arith.divf
// CHECK: vector.store %{{.*}}, %[[DH]][%{{.*}}] : memref<12288xbf16>, vector<2xbf16>
// The rest copies the result out.
// CHECK: gpu.func @kernel_1_copy_kernel(
// CHECK-NOT: gpu.func
