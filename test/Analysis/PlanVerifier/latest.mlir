// Who reads a run of an op that has run again since is refused: its bytes are not those that the plan holds for it.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 768 : i64, llm.peak = 1024 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.silu %a {llm.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 512>} : tensor<64xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 0 than the latest before it}}
  %c = llm.mul %a, %b {llm.offsets = array<i64: 256>} : tensor<64xf32>
  %d = llm.mul %c, %again {llm.offsets = array<i64: 512>} : tensor<64xf32>
  return %d : tensor<64xf32>
}
