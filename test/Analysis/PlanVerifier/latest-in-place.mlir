// The earlier run's bytes may have been taken over by then: the reader of the value in between is the one that is refused.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 0 than the latest before it}}
  %b = llm.silu %a {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %c = llm.mul %b, %again {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %c : tensor<64xf32>
}
