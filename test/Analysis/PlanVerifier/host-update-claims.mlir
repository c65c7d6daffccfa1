// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// What an update reads and writes on the host counts there: the arena of 512 bytes, the learning rate and 252 to align it.
// expected-error @below {{[peak] claims an arena of 768 bytes on the host, but uses 512}}
// expected-error @below {{[budget] needs 4 resident bytes, 252 to align them and an arena of 512, together more than the budget of the host of 767}}
func.func @step(%p: tensor<64xf32> {llm.donated = 0 : i64}, %x: tensor<64xf32>, %lr: tensor<f32, #llm.host>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.host_arena = 768 : i64, llm.host_budget = 767 : i64, llm.peak = 768 : i64} {
  %g = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %q = llm.copy_up %p {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %new = llm.sgd %q, %g, %lr {llm.offsets = array<i64: 256>, llm.started, weight_decay = 0.0 : f64} : (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<f32, #llm.host>) -> tensor<64xf32, #llm.host>
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %there = llm.wait %new {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  %p1 = llm.copy_down %there into(%p) {llm.offsets = array<i64: -1>} : (tensor<64xf32, #llm.host>, tensor<64xf32>) -> tensor<64xf32>
  return %p1, %y : tensor<64xf32>, tensor<64xf32>
}
