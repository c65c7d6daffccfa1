// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Another value is copied to the host where the gradient lies that the update may still read: it is in flight until its wait.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 768 : i64} {
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-note @below {{which starts here}}
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[flight] overwrites bytes that 'llm.sgd' has in flight; expected its 'llm.wait' before this op}}
  %h = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %there = llm.wait %new {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  %p1 = llm.copy_down %there into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  %y = llm.copy_down %h {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %p1, %y : tensor<64xf32>, tensor<64xf32>
}
