// A clone is a reader as others are.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 768 : i64, llm.peak = 1024 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.silu %a {llm.id = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %a2 = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 512>} : tensor<64xf32>
  %c = llm.mul %a2, %b {llm.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 0 than the latest before it}}
  %b2 = llm.silu %a {llm.clone_of = 1 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %d = llm.mul %c, %b2 {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %d : tensor<64xf32>
}
