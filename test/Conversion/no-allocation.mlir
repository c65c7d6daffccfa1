// Down to LLVM nothing allocates: what a kernel needs beside its buffers is a few rows on the stack.
//
// RUN: llmmem-opt --convert-step-to-kernels --convert-kernels-to-llvm %s | FileCheck %s
//
// CHECK-NOT: malloc
// CHECK-NOT: aligned_alloc
// CHECK: llvm.func @step(
// CHECK: llvm.call @kernel_0_embedding_grad(
// CHECK: llvm.func {{.*}}@kernel_0_embedding_grad({{.*}} {
// CHECK: llvm.alloca
// CHECK-NOT: malloc
// CHECK-NOT: aligned_alloc

func.func @step(%i: tensor<4xi32>, %dy: tensor<4x24xbf16>) -> tensor<9x24xbf16> attributes {llm.arena = 512 : i64} {
  %t = llm.embedding_grad %i, %dy {llm.offsets = array<i64: 0>} : (tensor<4xi32>, tensor<4x24xbf16>) -> tensor<9x24xbf16>
  return %t : tensor<9x24xbf16>
}
