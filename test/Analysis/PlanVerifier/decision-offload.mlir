// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The backward reads what came back from the host.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.host_arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[decision] says "keep" of result 0, expected "offload" by what the backward and the update read}}
  %a = llm.gelu %x {llm.decision = ["keep"], llm.offsets = array<i64: 0>, llm.phase = "forward"} : tensor<64xf32>
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %back = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %y = llm.gelu %back {llm.offsets = array<i64: 0>, llm.phase = "backward"} : tensor<64xf32>
  return %y : tensor<64xf32>
}
