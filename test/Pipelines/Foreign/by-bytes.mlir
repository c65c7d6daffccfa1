// What nobody describes is priced by its bytes where that is asked for; the report says which ops, and how much of the time.
// RUN: llmmem-opt --allow-unregistered-dialect --checkpoint-policy=none --unpriced=by-bytes --memory-report-json=%t.json %s -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json

// CHECK: unpriced       2 ops by the bytes they move, {{[0-9.]+}} % of the time: tensor.pad (1), unknown.op (1)
// JSON: "priced_by_bytes": [
// JSON: "count": 1,
// JSON-NEXT: "op": "tensor.pad"
// JSON: "op": "unknown.op"
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = "unknown.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = llm.gelu %0 : tensor<4xf32>
  %2 = tensor.pad %1 low[2] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<8xf32>
  return %2 : tensor<8xf32>
}
