// An update on the host runs the kernel that it has on the device, on the thread of updates where it is started, between bytes of the host alone. In
// a step for a GPU that kernel is the CPU's, without a launch, and what calls the driver hands it over with the addresses of its buffers.
// RUN: llmmem-opt --convert-step-to-kernels=poison=true %s | FileCheck %s -enable-var-scope
// RUN: llmmem-opt --convert-step-to-kernels --outline-parallel-loops %s | FileCheck %s --check-prefix=CALLS
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu %s | FileCheck %s --check-prefix=GPU
// RUN: llmmem-opt --convert-step-to-kernels=target=gpu --convert-launches-to-runtime %s | FileCheck %s --check-prefix=RUNTIME

// CHECK-LABEL: func.func @step(
// CHECK-SAME: memref<1xi8>, %[[P:[a-z0-9]+]]: memref<64xf32>, %{{.*}}: memref<64xf32>, %[[LR:[a-z0-9]+]]: memref<1xf32>, %[[HOST:[a-z0-9]+]]: memref<512xi8>)
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> tensor<64xf32> attributes {llm.arena = 0 : i64, llm.host_arena = 512 : i64} {
  // CHECK: %[[G:.*]] = memref.view %[[HOST]][%c0{{.*}}][]
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK: %[[Q:.*]] = memref.view %[[HOST]][%c256{{.*}}][]
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK: scf.forall (%{{.*}}) in (1) {
  // CHECK-NEXT: call @kernel_0_sgd(%[[Q]], %[[G]], %[[LR]], %[[Q]])
  // CHECK-NEXT: } {llm.on_host, llm.started}
  // CHECK-NOT: @llmmem_fill_dead
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  // The gradient dies after the wait.
  // CHECK: call @llmmem_update_wait()
  // CHECK: call @llmmem_fill_dead
  %there = llm.wait %new {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  // CHECK: memref.extract_aligned_pointer_as_index %[[P]]
  // CHECK: call @llmmem_copy(
  %p1 = llm.copy_down %there into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1 : tensor<64xf32>
}

// GPU-LABEL: func.func @step
// GPU: call @kernel_0_sgd(%[[Q:.*]], %{{.*}}, %{{.*}}, %[[Q]]) {llm.on_host, llm.started, llm.values = array<i64: {{[0-9]+}}, {{[0-9]+}}, 2, {{[0-9]+}}>, llm.writes = array<i64: 3>}
// GPU: call @llmmem_cuda_update_wait() : () -> ()
// GPU: func.func private @kernel_0_sgd
// GPU-NOT: gpu.launch
// GPU: vector<16xf32>

// RUNTIME: func.func private @llmmem_cuda_update_start(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
// RUNTIME-LABEL: func.func @step(%arg0: !llvm.ptr,
// RUNTIME: %[[F:.*]] = constant @kernel_0_sgd_of_words
// RUNTIME: %[[ENTRY:.*]] = builtin.unrealized_conversion_cast %[[F]]
// RUNTIME: call @llmmem_cuda_update_start(%arg0, %[[ENTRY]], %{{.*}}, %c4_i64{{.*}})
// RUNTIME: call @llmmem_cuda_update_wait(%arg0) : (!llvm.ptr) -> ()
// RUNTIME: func.func private @kernel_0_sgd(%{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<1xf32>, %{{.*}}: memref<64xf32>)
// RUNTIME: func.func private @kernel_0_sgd_of_words(%{{.*}}: !llvm.ptr) {
// RUNTIME: call @kernel_0_sgd(

// CALLS: func.func @step
// CALLS: call @llmmem_update_start(%{{.*}}, %{{.*}}, %{{.*}})
// CALLS: call @llmmem_update_wait()
