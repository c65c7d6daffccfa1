// A warning is printed once, although the step is planned a second time without a budget: how long it then takes is known by a program alone,
// since its collective runs at the same time as other ops.
// RUN: llmmem-opt --plan-checkpoints="budget=10kB overlap=true chunk=16" %s -o %t 2> %t.messages
// RUN: grep -c "no op of @step works in chunks" %t.messages | FileCheck %s
// RUN: FileCheck %s --check-prefix=TIME < %t

// CHECK: {{^1$}}
// The sum takes 6,001 ns, next to both activations, and the product 2,001 after it: with a budget as without one.
// TIME: cost_without_budget_ns = 8002 : i64
func.func @step(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %f = llm.silu %y {llm.phase = "forward"} : tensor<64xf32>
  %sum = llm.all_reduce %x over ["dp"] {llm.phase = "forward"} : tensor<64xf32>
  %g = llm.gelu %f {llm.phase = "forward"} : tensor<64xf32>
  %z = llm.mul %sum, %g {llm.phase = "backward"} : tensor<64xf32>
  return %z : tensor<64xf32>
}
