// What comes back from the host is the run that went there: refused after a later one.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %back = llm.copy_down %up {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // expected-note @below {{the latest run is this}}
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 1 than the latest before it}}
  %c = llm.mul %again, %back {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %c : tensor<64xf32>
}

// -----

// The value itself and what came back are one run; what comes back after a later run counts as that one.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %back = llm.copy_down %up {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %b = llm.mul %a, %back {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %again = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  %c = llm.mul %b, %again {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %later = llm.copy_down %up {llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %d = llm.mul %c, %later {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %d : tensor<64xf32>
}
