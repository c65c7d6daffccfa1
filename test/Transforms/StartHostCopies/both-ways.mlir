// One direction does not wait for the other where they share no bytes, and stands after its wait where they do: %b goes to
// the bytes of the host that %v comes back from.
// RUN: llmmem-opt --start-host-copies --verify-plan %s | FileCheck %s -enable-var-scope

func.func @step(%x: tensor<64xf32>, %m: tensor<64xf32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32, #llm.host>) attributes {llm.arena = 768 : i64, llm.host_arena = 256 : i64, llm.peak = 1024 : i64} {
  // CHECK: %[[M:.*]] = llm.copy_down %{{.*}} {llm.offsets = array<i64: 256>, llm.started}
  // CHECK-NEXT: %[[V:.*]] = llm.copy_up %{{.*}} {llm.offsets = array<i64: 0>, llm.started}
  %v = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK-NEXT: %[[A:.*]] = llm.gelu
  %a = llm.gelu %x {llm.offsets = array<i64: 512>} : tensor<64xf32>
  %state = llm.copy_down %m {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // CHECK-NEXT: %[[LEFT:.*]] = llm.wait %[[V]]
  // CHECK-NEXT: %[[BACK:.*]] = llm.copy_down %[[LEFT]] {llm.offsets = array<i64: 0>, llm.started}
  %back = llm.copy_down %v {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // CHECK-NEXT: llm.wait %[[M]]
  // CHECK-NEXT: llm.wait %[[BACK]]
  // CHECK-NEXT: %[[B:.*]] = llm.copy_up %[[A]] {llm.offsets = array<i64: 0>, llm.started}
  %b = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK-NEXT: %[[THERE:.*]] = llm.wait %[[B]]
  // CHECK-NEXT: return
  return %back, %state, %b : tensor<64xf32>, tensor<64xf32>, tensor<64xf32, #llm.host>
}
