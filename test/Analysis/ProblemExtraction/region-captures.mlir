// A region that reads a value from outside is refused, with both places; the value would not be kept for it.
// RUN: llmmem-opt --plan-checkpoints="policy=none" --verify-diagnostics %s -o %t

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{the value is made here}}
  %y = llm.silu %x {llm.name = "y", llm.phase = "forward"} : tensor<4xf32>
  // expected-error @+1 {{has a region that reads 'y' from outside, which no plan would keep for it; make it an operand}}
  %z = scf.execute_region -> tensor<4xf32> {
    scf.yield %y : tensor<4xf32>
  }
  return %z : tensor<4xf32>
}
