// Two ops with one number would have the same clones.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[clone] has 'llm.id' = 0, which another op has}}
  %b = llm.gelu %x {llm.id = 0 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>
  %c = llm.mul %a, %b {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %c : tensor<64xf32>
}
