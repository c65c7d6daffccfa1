// A host-to-device copy brings back what went to the host last.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 512 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %up2 = llm.copy_up %again {llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[latest] reads an earlier run as operand 0 than the latest before it}}
  %back = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %back : tensor<64xf32>
}
