// What a region reads from outside is no operand, and nothing holds it until the op runs.
// RUN: llmmem-opt --allow-unregistered-dialect --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-note @below {{which is made here}}
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %b = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[capture] has a region that reads a value from outside, which no plan holds for it; make it an operand}}
  %c = "test.op"(%b) ({
    %inner = llm.silu %a : tensor<64xf32>
    "test.yield"(%inner) : (tensor<64xf32>) -> ()
  }) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 0, workspace = 0>, llm.in_place = [array<i64: 0>], llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}
