// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %0 is read after %1 is written, so they must not share bytes.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %1 = llm.silu %0 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %2 = llm.add %0, %1 {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %2 : tensor<64xf32>
}
