// Ops that no dialect registers are planned by what they say of themselves: %a is recomputed where the budget does not hold
// it. Scalars have no bytes, constants are resident, effects keep their order.
// RUN: llmmem-opt --allow-unregistered-dialect --checkpoint-budget=20480 %s 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAID < %t.err
// RUN: not llmmem-opt --allow-unregistered-dialect --checkpoint-budget=12000 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=LESS

// SAID: resident     4.35 kB
// LESS: no plan exists under a budget of
// CHECK: func.func @main
// CHECK: "any.constant"{{.*}}llm.offsets = array<i64: -1>
// CHECK: "any.first"
// CHECK: "any.cheap"(%arg0){{.*}}llm.id = [[N:[0-9]+]]
// CHECK: "any.second"
// CHECK: "any.cheap"(%arg0){{.*}}llm.clone_of = [[N]]
// CHECK: "any.last"
func.func @main(%x: tensor<1024xf32>) -> tensor<f32> {
  %c = "any.constant"() {llm.resident} : () -> tensor<64xf32>
  %n = arith.constant 3 : index
  %a = "any.cheap"(%x) {llm.cost = #llm.cost<flops = 0, bytes = 8192, ns = 5, workspace = 0>, llm.pure, llm.phase = "forward", llm.block = 0 : i64} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "any.dear"(%a, %c, %n) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 1000, workspace = 0>, llm.pure, llm.phase = "forward"} : (tensor<1024xf32>, tensor<64xf32>, index) -> tensor<1024xf32>
  "any.first"() {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 1, workspace = 0>} : () -> ()
  %s = "any.second"(%b) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 1, workspace = 8192>} : (tensor<1024xf32>) -> tensor<f32>
  %l = "any.last"(%a, %s) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 1, workspace = 0>, llm.pure, llm.phase = "backward"} : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
