// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// A view that is read keeps its source's bytes held.
func.func @step(%x: tensor<64xf32>) -> tensor<2x32xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.reshape %0 {llm.offsets = array<i64: 0>} : tensor<64xf32> -> tensor<2x32xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %2 = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %3 = llm.reshape %2 {llm.offsets = array<i64: 0>} : tensor<64xf32> -> tensor<2x32xf32>
  %4 = llm.add %1, %3 {llm.offsets = array<i64: 0>} : tensor<2x32xf32>
  return %4 : tensor<2x32xf32>
}
