// RUN: llmmem-opt --verify-plan %s | FileCheck %s

// A plan that holds: the new parameter stands in the bytes of the old one's copy, which it takes over, while the gradient stands next to it; the
// update is in flight while the device computes. On the host the learning rate is resident.
// CHECK: llm.sgd
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.host_budget = 768 : i64, llm.peak = 768 : i64} {
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %there = llm.wait %new {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  %p1 = llm.copy_down %there into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1, %y : tensor<64xf32>, tensor<64xf32>
}
