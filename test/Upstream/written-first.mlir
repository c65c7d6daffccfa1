// What a person, or a table of the user's, says of an op comes before the model of its dialect.
// RUN: rm -rf %t && split-file %s %t
// RUN: llmmem-opt --checkpoint-policy=none --op-table=%t/table.json %t/step.mlir -o %t/planned.mlir 2> /dev/null
// RUN: FileCheck %s < %t/planned.mlir

// CHECK: linalg.exp {{.*}}llm.cost = #llm.cost<flops = 7, bytes = 9, ns = 11, workspace = 0>, llm.cost_from = "written"
// CHECK: linalg.log {{.*}}llm.cost = #llm.cost<flops = 192, {{.*}}llm.cost_from = "table"
// CHECK: linalg.abs
// CHECK-NOT: llm.cost_from
// CHECK: return

//--- table.json
{"format": "llmmem-op-table", "version": 1, "ops": [{"ops": ["linalg.log"], "flops_per_element": 3}]}
//--- step.mlir
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %a = linalg.exp {llm.cost = #llm.cost<flops = 7, bytes = 9, ns = 11, workspace = 0>} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %b = linalg.log ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %c = linalg.abs ins(%b : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}
