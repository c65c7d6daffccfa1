// Down to LLVM nothing allocates: what a kernel needs in addition to its buffers is of constant size on the stack, a few rows,
// or the panels of a product.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s --check-prefix=KERNELS '--implicit-check-not=memref.alloc('
// RUN: llmmem-opt --convert-step-to-kernels --convert-kernels-to-llvm %s | FileCheck %s --implicit-check-not=malloc --implicit-check-not=aligned_alloc
//
// KERNELS: call @gemm_bf16_block_nn(
//
// CHECK: llvm.func @step(
// CHECK: llvm.call @kernel_0_embedding_grad(
// CHECK: llvm.call @kernel_1_linear(
// CHECK: llvm.func {{.*}}@kernel_0_embedding_grad({{.*}} {
// CHECK: llvm.mlir.constant(24 : index)
// CHECK: %[[ROW:.*]] = llvm.mlir.constant(24 : index)
// CHECK: llvm.alloca %[[ROW]] x f32
// CHECK: llvm.func {{.*}}@gemm_bf16_block_nn({{.*}} {
// CHECK-DAG: %[[A:.*]] = llvm.mlir.constant(24576 : i64)
// CHECK-DAG: %[[B:.*]] = llvm.mlir.constant(46080 : i64)
// CHECK-DAG: %[[SUMS:.*]] = llvm.mlir.constant(30720 : i64)
// CHECK-DAG: llvm.alloca %[[A]] x f32
// CHECK-DAG: llvm.alloca %[[B]] x f32
// CHECK-DAG: llvm.alloca %[[SUMS]] x f32

func.func @step(%i: tensor<4xi32>, %dy: tensor<4x24xbf16>, %w: tensor<24x9xbf16>) -> (tensor<9x24xbf16>, tensor<9x9xbf16>)
    attributes {llm.arena = 1024 : i64} {
  %t = llm.embedding_grad %i, %dy {llm.offsets = array<i64: 0>} : (tensor<4xi32>, tensor<4x24xbf16>) -> tensor<9x24xbf16>
  %y = llm.linear %t, %w layout(in_out) {llm.offsets = array<i64: 512>} : (tensor<9x24xbf16>, tensor<24x9xbf16>) -> tensor<9x9xbf16>
  return %t, %y : tensor<9x24xbf16>, tensor<9x9xbf16>
}
