// An update starts after the wait for its gradient, runs concurrently with the device and the next gradient's copy to the host, and is waited for before its parameter
// is copied to the device.
// RUN: llmmem-opt --start-host-copies --verify-plan %s | FileCheck %s -enable-var-scope

// CHECK: llm.peak = 768
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 768 : i64} {
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %{{.*}} {{.*}}llm.started
  // CHECK-NEXT: %[[OLD:.*]] = llm.copy_up %{{.*}} {{.*}}llm.started
  // CHECK-NEXT: %[[F:.*]] = llm.gelu
  %f = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK-NEXT: %[[G:.*]] = llm.wait %[[UP]]
  // CHECK-NEXT: %[[Q:.*]] = llm.wait %[[OLD]]
  // CHECK-NEXT: %[[START:.*]] = llm.sgd %[[Q]], %[[G]], %{{.*}} {{.*}}llm.started
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  // CHECK-NEXT: %[[H:.*]] = llm.silu %[[F]]
  %h = llm.silu %f {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK-NEXT: %[[NEW:.*]] = llm.wait %[[START]]
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[NEW]] into(%{{.*}}) {{.*}}llm.started
  // CHECK-NEXT: %[[BACK:.*]] = llm.wait %[[DOWN]]
  // CHECK-NEXT: return %[[BACK]], %[[H]]
  %p1 = llm.copy_down %new into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1, %h : tensor<64xf32>, tensor<64xf32>
}
