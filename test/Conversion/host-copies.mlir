// Copies are calls of the runtime, between the two arenas: the device's first, the host's after arguments and results. What is
// started has its bytes until the wait: the pattern of dead bytes comes to %a and to the host's value after their waits.
// RUN: llmmem-opt --convert-step-to-kernels=poison=true %s | FileCheck %s -enable-var-scope
//
// For a GPU they are calls of its runtime, which say what they read and write and in which direction.
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu %s | FileCheck %s --check-prefix=GPU
// GPU: call @llmmem_cuda_host_copy_start(%{{.*}}, %{{.*}}, %c256_i64{{.*}}, %c0_i64{{.*}}) {llm.values = array<i64: [[A:[0-9]+]], [[UP:[0-9]+]]>, llm.writes = array<i64: 1>} : (i64, i64, i64, i64) -> ()
// GPU: call @llmmem_cuda_host_copy_wait(%c0_i64{{.*}}) : (i64) -> ()
// GPU: call @llmmem_cuda_host_copy_start(%{{.*}}, %{{.*}}, %{{.*}}, %c1_i64{{.*}}) {llm.values = array<i64: [[UP]], [[DOWN:[0-9]+]]>
// GPU: call @llmmem_cuda_host_copy_wait(%c1_i64{{.*}})
// GPU: call @llmmem_cuda_host_copy(%{{.*}}, %{{.*}}, %{{.*}}, %c0_i64{{.*}}) {llm.values = array<i64: [[DOWN]], {{[0-9]+}}>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<512xi8>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>, %[[HOST:[a-z0-9]+]]: memref<256xi8>)
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64} {
  // CHECK: call @kernel_0_gelu
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK: %[[TO:.*]] = memref.view %[[HOST]]
  // CHECK: memref.extract_aligned_pointer_as_index %[[TO]]
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @llmmem_copy_start(%{{.*}}, %{{.*}}, %c256_i64{{.*}}, %c0_i64{{.*}}) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @llmmem_copy_wait(%c0_i64{{.*}})
  // CHECK: call @llmmem_fill_dead
  %left = llm.wait %up {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  // CHECK: call @llmmem_copy_start(%{{.*}}, %{{.*}}, %{{.*}}, %c1_i64{{.*}})
  %down = llm.copy_down %left {llm.offsets = array<i64: 256>, llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @llmmem_copy_wait(%c1_i64{{.*}})
  // CHECK: call @llmmem_fill_dead
  %back = llm.wait %down {llm.offsets = array<i64: 256>} : tensor<64xf32>
  // What is not started is one call.
  // CHECK: call @llmmem_copy(%{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %again = llm.copy_up %back {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  return %back : tensor<64xf32>
}
