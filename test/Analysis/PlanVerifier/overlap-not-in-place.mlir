// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// linear reads its input throughout: its result may not stand on it, last read or not.
func.func @step(%x: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> attributes {llm.arena = 256 : i64, llm.peak = 17152 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<1x64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %1 = llm.linear %0, %w layout(in_out) {llm.offsets = array<i64: 0>} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  return %1 : tensor<1x64xf32>
}
