// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The new parameter takes the place of the old one, which something reads after that.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 768 : i64} {
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %there = llm.wait %new {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  %p1 = llm.copy_down %there into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 0 after its bytes were overwritten}}
  %y = llm.add %x, %p {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %p1, %y : tensor<64xf32>, tensor<64xf32>
}
