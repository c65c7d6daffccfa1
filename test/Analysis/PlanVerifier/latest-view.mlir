// A view of an earlier run is that run, also where the view itself was made before the later one.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<8x8xf32> attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %v = llm.reshape %a {llm.offsets = array<i64: 0>} : tensor<64xf32> -> tensor<8x8xf32>
  // expected-note @below {{the latest run is this}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  %w = llm.reshape %again {llm.offsets = array<i64: 256>} : tensor<64xf32> -> tensor<8x8xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 1 than the latest before it}}
  %c = llm.mul %w, %v {llm.offsets = array<i64: 256>} : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}
