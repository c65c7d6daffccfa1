// What was started later may have taken over the bytes of what was waited for: those do not die at the wait.
// RUN: llmmem-opt --verify-plan --convert-step-to-kernels=poison=true %s | FileCheck %s

// CHECK-LABEL: func.func @step(
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1024 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %s = llm.send_receive %a over ["dp"] {shift = 1 : i64, llm.offsets = array<i64: 256>, llm.started} : tensor<64xf32>
  // In the bytes of %a.
  %r = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.started, llm.workspace = array<i64: 768, 256>} : tensor<64xf32>
  // CHECK: call @llmmem_wait()
  // CHECK-NOT: call @llmmem_fill_dead
  // CHECK: call @kernel_0_gelu
  %s2 = llm.wait %s {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %b = llm.gelu %s2 {llm.offsets = array<i64: 512>} : tensor<64xf32>
  // CHECK: call @llmmem_wait()
  %r2 = llm.wait %r {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %r2, %b : tensor<64xf32>, tensor<64xf32>
}
