// What is returned is read at the end, where the latest run is the one that stands.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 0 than the latest before it}}
  return %a, %again : tensor<64xf32>, tensor<64xf32>
}
