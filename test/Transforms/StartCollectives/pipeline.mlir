// With --overlap the pipeline starts what the plan has on the link, and verifies it; without, collectives run in turn.
// RUN: llmmem-opt --overlap --checkpoint-policy=none %s | FileCheck %s
// RUN: llmmem-opt --checkpoint-policy=none %s | FileCheck %s --check-prefix=TURN

// CHECK: llm.all_reduce {{.*}}llm.started
// CHECK: llm.wait
// TURN: llm.all_reduce
// TURN-NOT: llm.started
// TURN-NOT: llm.wait
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sum = llm.all_reduce %x over ["dp"] {llm.phase = "forward"} : tensor<64xf32>
  return %sum : tensor<64xf32>
}
