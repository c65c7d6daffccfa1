// RUN: llmmem-opt --convert-step-to-kernels="target=gpu profile" %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels="target=gpu profile" --gpu-kernel-outlining --convert-gpu-kernels-to-nvvm %s | FileCheck %s --check-prefix=RUNTIME

// On a GPU marks stand before each call and after the last, for events of the runtime, which is given the run; the
// copy of the result is no call of an op. No argument is added.
//
// CHECK: func.func private @llmmem_cuda_mark(i64)
// CHECK: func.func @step(%{{.*}}: memref<512xi8>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>)
// CHECK: %[[FIRST:.*]] = arith.constant 0 : i64
// CHECK-NEXT: call @llmmem_cuda_mark(%[[FIRST]])
// CHECK-NEXT: call @kernel_0_gelu({{.*}}llm.profile = {
// CHECK: %[[SECOND:.*]] = arith.constant 1 : i64
// CHECK-NEXT: call @llmmem_cuda_mark(%[[SECOND]])
// CHECK-NEXT: call @kernel_0_gelu(
// CHECK: %[[LAST:.*]] = arith.constant 2 : i64
// CHECK-NEXT: call @llmmem_cuda_mark(%[[LAST]])
// CHECK-NEXT: call @kernel_1_copy(
// CHECK-NOT: llmmem_cuda_mark
//
// RUNTIME: func.func private @llmmem_cuda_mark(!llvm.ptr, i64)
// RUNTIME: func.func @step(%[[HANDLE:.*]]: !llvm.ptr,
// RUNTIME: call @llmmem_cuda_mark(%[[HANDLE]], %{{.*}}) : (!llvm.ptr, i64) -> ()
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.gelu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %b : tensor<64xf32>
}
