// Of two numbers --loss takes the one that is said; a phase that is written stays, whatever the graph would say.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step=loss=1 %s | FileCheck %s
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step=loss=0 %s | FileCheck %s --check-prefix=FIRST

// CHECK: llm.loss = 1
// CHECK: "stablehlo.tanh"{{.*}}llm.phase = "forward"
// CHECK: "stablehlo.negate"{{.*}}llm.phase = "forward"
// CHECK: "stablehlo.sine"{{.*}}llm.phase = "backward"
// FIRST: llm.loss = 0
// FIRST: "stablehlo.tanh"{{.*}}llm.phase = "forward"
// FIRST: "stablehlo.negate"{{.*}}llm.phase = "backward"
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %a = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  %b = "stablehlo.negate"(%a) : (tensor<f32>) -> tensor<f32>
  %c = "stablehlo.sine"(%b) {llm.phase = "backward"} : (tensor<f32>) -> tensor<f32>
  return %a, %c : tensor<f32>, tensor<f32>
}
