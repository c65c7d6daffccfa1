// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The parameter is copied to the host where the gradient still stands.
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %q = llm.copy_up %p {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 0>, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %p1 = llm.copy_down %new into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1, %y : tensor<64xf32>, tensor<64xf32>
}
