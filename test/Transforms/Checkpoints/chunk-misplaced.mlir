// A chunk on an op that has none is refused.
// RUN: llmmem-opt %s --apply-checkpoints --verify-diagnostics

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {llm.schedule = array<i64: 0>} {
  // expected-error @below {{has 'llm.chunk', but does not work in chunks}}
  %y = llm.gelu %x {llm.chunk = 2 : i64, llm.id = 0 : i64} : tensor<4xf32>
  return %y : tensor<4xf32>
}
