// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// What lies on the host counts against its own budget: the state %m, 256 bytes, and an arena of 256.
// expected-error @below {{[budget] needs 256 resident bytes, 0 to align them and an arena of 256, together more than the budget of the host of 511}}
func.func @step(%x: tensor<64xf32>, %m: tensor<64xf32, #llm.host>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.budget = 512 : i64, llm.host_arena = 256 : i64, llm.host_budget = 511 : i64, llm.peak = 512 : i64} {
  %up = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
