// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The backward reads the second run, and the first says that it was kept.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[decision] says "keep" of result 0, expected "recompute" by what the backward and the update read}}
  %0 = llm.gelu %x {llm.decision = ["keep"], llm.id = 0 : i64, llm.offsets = array<i64: 0>, llm.phase = "forward"} : tensor<64xf32>
  %1 = llm.gelu %x {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 0>, llm.phase = "forward"} : tensor<64xf32>
  %2 = llm.silu %1 {llm.offsets = array<i64: 0>, llm.phase = "backward"} : tensor<64xf32>
  return %2 : tensor<64xf32>
}
