// A started collective runs its kernel on the thread of communication; its wait is a call, and what it uses dies there.
// RUN: llmmem-opt --convert-step-to-kernels=poison=true %s | FileCheck %s
// RUN: llmmem-opt --convert-step-to-kernels=profile=true %s | FileCheck %s --check-prefix=PROFILE
// RUN: llmmem-opt --convert-step-to-kernels --outline-parallel-loops %s | FileCheck %s --check-prefix=CALLS

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<1280xi8>
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 1280 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK: %[[SCRATCH:.*]] = memref.view %[[ARENA]][%c512{{.*}}][] : memref<1280xi8> to memref<256xi8>
  // CHECK: scf.forall (%{{.*}}) in (1) {
  // CHECK-NEXT: call @kernel_1_all_reduce
  // CHECK-NEXT: } {llm.started}
  %sum = llm.all_reduce %a over ["dp"] {llm.offsets = array<i64: 256>, llm.started, llm.workspace = array<i64: 512, 256>} : tensor<64xf32>
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @kernel_0_gelu
  %b = llm.gelu %x {llm.offsets = array<i64: 768>} : tensor<64xf32>
  // %a and the workspace.
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: call @llmmem_wait()
  // CHECK: %[[READ:.*]] = memref.view %[[ARENA]][%c0{{.*}}][] : memref<1280xi8> to memref<256xi8>
  // CHECK: memref.extract_aligned_pointer_as_index %[[READ]]
  // CHECK: call @llmmem_fill_dead
  // CHECK: memref.extract_aligned_pointer_as_index %[[SCRATCH]]
  // CHECK: call @llmmem_fill_dead
  // CHECK-NOT: @llmmem_fill_dead
  // CHECK: return
  %s = llm.wait %sum {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %s, %b : tensor<64xf32>, tensor<64xf32>
}

// Three addresses.
// CALLS-DAG: func.func private @llmmem_start(!llvm.ptr, !llvm.ptr, i64)
// CALLS-DAG: func.func private @llmmem_wait()
// CALLS: func.func @step
// CALLS: %[[BYTES:.*]] = llvm.mlir.constant(24 : i64) : i64
// CALLS: call @llmmem_start(%{{.*}}, %{{.*}}, %[[BYTES]])
// CALLS: call @llmmem_wait()

// It is timed where it runs.
// PROFILE: scf.forall
// PROFILE-NEXT: func.call @llmmem_clock()
// PROFILE: func.call @kernel_1_all_reduce({{.*}}) {llm.profile = {{{.*}}kind = "all_reduce"{{.*}}work = "started"}}
// PROFILE: func.call @llmmem_clock()
// PROFILE: } {llm.started}
// PROFILE: call @llmmem_wait() {llm.profile = {{{.*}}kind = "wait"{{.*}}work = "wait"}}
