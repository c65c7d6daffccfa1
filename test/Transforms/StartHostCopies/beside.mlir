// A device-to-host copy starts after the op that makes its value, and is waited for before those bytes are overwritten; a host-to-device copy
// starts after the last op that uses the bytes it writes, and is waited for before its reader. The peak is 768 as before: at
// %f the argument, %a, %f; and at %g the argument, %f, %g.
// RUN: llmmem-opt --start-host-copies --verify-plan %s | FileCheck %s -enable-var-scope

// CHECK: llm.peak = 768
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  // CHECK: %[[A:.*]] = llm.gelu
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK-NEXT: %[[UP:.*]] = llm.copy_up %[[A]] {{.*}}llm.started
  // CHECK-NEXT: %[[F:.*]] = llm.silu %[[A]]
  %f = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // CHECK-NEXT: %[[LEFT:.*]] = llm.wait %[[UP]]
  // CHECK-NEXT: %[[G:.*]] = llm.gelu %[[F]]
  %g = llm.gelu %f {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // CHECK-NEXT: %[[DOWN:.*]] = llm.copy_down %[[LEFT]] {{.*}}llm.started
  // CHECK-NEXT: %[[H:.*]] = llm.silu %[[G]]
  %h = llm.silu %g {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %down = llm.copy_down %up {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // CHECK-NEXT: %[[BACK:.*]] = llm.wait %[[DOWN]]
  // CHECK-NEXT: llm.mul %[[H]], %[[BACK]]
  %z = llm.mul %h, %down {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %z : tensor<64xf32>
}
