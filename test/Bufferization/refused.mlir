// What cannot run in the arena is refused at its place, before anything is changed.
// RUN: llmmem-opt --llmmem-arena-bufferize --split-input-file --verify-diagnostics %s

// expected-error @+1 {{has no 'llm.arena'; run apply-checkpoints, or plan-arena for a step without a plan, first}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  return %x : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64} {
  // expected-error @+1 {{'tosa.exp' has no destination to write into, so it cannot run in the arena; give it one before planning}}
  %0 = tosa.exp %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error @+1 {{is called, and its callers do not have its arena}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 0 : i64} {
  return %x : tensor<64xf32>
}
func.func @caller(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-note @+1 {{it is called here}}
  %0 = call @step(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
