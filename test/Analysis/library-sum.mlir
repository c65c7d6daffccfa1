// A bias's gradient with a weight's, for a library, costs the call and, where it goes on from a sum so far, a launch that
// adds what the call has left in the workspace: 14,592 bytes in all at 4 a ns, 256 of them the launch's, and 10 ns for each of
// the two. Where a product was timed but not what it sums as well, that is what comes on top.
//
// RUN: split-file %s %t
// RUN: llmmem-opt "--annotate-memory=device=%t/device.json" %t/step.mlir | FileCheck %s
// RUN: llmmem-opt "--annotate-memory=device=%t/product.json" %t/step.mlir | FileCheck %s --check-prefix=PRODUCT
//
// CHECK: llm.cost = #llm.cost<flops = 67584, bytes = 14592, ns = 3668, workspace = 512>
// CHECK: llm.cost = #llm.cost<flops = 67584, bytes = 14464, ns = 3626, workspace = 256>
// CHECK: llm.cost = #llm.cost<flops = 67584, bytes = 14592, ns = 3658, workspace = 0>
// PRODUCT: ns = 5074,
// PRODUCT: ns = 5032,
// PRODUCT: ns = 5064,

//--- device.json
{"name": "d", "flops_per_ns": {"bf16": 100, "f32": 100, "f64": 100}, "bytes_per_ns": 4, "launch_ns": 10}
//--- product.json
{"name": "d", "flops_per_ns": {"bf16": 100, "f32": 100, "f64": 100}, "bytes_per_ns": 4, "launch_ns": 10,
 "measured": {"linear_weight_grad(64x16xf32, 64x32xf32) -> 16x32xf32 {layout = 0 : i32}": 5000}}
//--- step.mlir
!x = tensor<64x16xf32>
!y = tensor<64x32xf32>
!w = tensor<16x32xf32>
!b = tensor<32xf32>
func.func @step(%x: !x, %dy: !y, %gb: !b) -> (!w, !b, !w, !b, !w, !b) {
  %dw, %db = llm.kernel(%i = %x, %d = %dy, %t = %gb) : (!x, !y, !b) -> (!w, !b) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (!x, !y) -> !w
    %r = llm.sum_rows %d into(%t) : (!y, !b) -> !b
    llm.yield %p, %r : !w, !b
  } attributes {llm.library_workspace = 256 : i64}
  %dv, %dc = llm.kernel(%i = %x, %d = %dy) : (!x, !y) -> (!w, !b) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (!x, !y) -> !w
    %r = llm.sum_rows %d : (!y) -> !b
    llm.yield %p, %r : !w, !b
  } attributes {llm.library_workspace = 256 : i64}
  %du, %da = llm.kernel(%i = %x, %d = %dy, %t = %gb) : (!x, !y, !b) -> (!w, !b) {
    %p = llm.linear_weight_grad %i, %d layout(in_out) : (!x, !y) -> !w
    %r = llm.sum_rows %d into(%t) : (!y, !b) -> !b
    llm.yield %p, %r : !w, !b
  }
  return %dw, %db, %dv, %dc, %du, %da : !w, !b, !w, !b, !w, !b
}
