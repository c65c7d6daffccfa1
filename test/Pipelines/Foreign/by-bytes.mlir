// What nobody describes is priced by its bytes where that is asked for; the report says which ops, and how much of the time.
// RUN: llmmem-opt --allow-unregistered-dialect --checkpoint-policy=none --unpriced=by-bytes --memory-report-json=%t.json %s -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// CHECK: unpriced       2 ops by the bytes they move, {{[0-9.]+}} % of the time: tosa.custom (1), unknown.op (1)
// JSON: "priced_by_bytes": [
// JSON: "count": 1,
// JSON-NEXT: "op": "tosa.custom"
// JSON: "op": "unknown.op"
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "unknown.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = llm.gelu %0 : tensor<4xf32>
  %2 = tosa.custom %1 {domain_name = "mine", implementation_attrs = "", operator_name = "twice"} : (tensor<4xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
