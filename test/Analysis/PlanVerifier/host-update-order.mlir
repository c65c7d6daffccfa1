// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Updates run one after another, so their waits stand in the order of the starts.
func.func @step(%a: tensor<64xf32, #llm.host> {llm.donated = 0 : i64}, %b: tensor<64xf32, #llm.host> {llm.donated = 1 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>)
    -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>) attributes {llm.arena = 0 : i64, llm.host_arena = 256 : i64, llm.peak = 256 : i64} {
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-note @below {{which starts here}}
  %a1 = llm.sgd %a, %g, %lr {llm.offsets = array<i64: -1>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %b1 = llm.sgd %b, %g, %lr {llm.offsets = array<i64: -1>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[flight] stands before the wait for what started earlier; expected waits in the order of the starts}}
  %later = llm.wait %b1 {llm.offsets = array<i64: -1>} : tensor<64xf32, #llm.host>
  %sooner = llm.wait %a1 {llm.offsets = array<i64: -1>} : tensor<64xf32, #llm.host>
  return %sooner, %later : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>
}
