// A chunk has a price: the weight and the sum of its gradient go through memory once for each, and each launches four
// kernels. Smaller chunks cost more time and hold fewer bytes; FLOPs stay.
// RUN: llmmem-opt %s --annotate-memory=device=%S/Inputs/unit.json | FileCheck %s

// x is 8 x 4, w 16 x 4, logits 8 x 16, all bf16: 64, 128 and 256 bytes. One chunk: logits 64 + 128 + 256 bytes,
// rows 3 * 256 + 32, dw 256 + 64 + 256 (the f32 sum, written once), dx 256 + 128 + 64; FLOPs 3 * 1024 + 8 * 128.
// At one byte a ns and 10 ns a launch: 448 + 800 + 576 + 448 + 40.
// Workspace: 64 of losses (32 used), 1024 of logits, whose rows of 16 lie 64 apart, 64 and 256 of wide factors, 256 of products, 128 of lower halves.
// CHECK: chunk = 8 : i64, granule = 4 : i64, llm.bytes = array<i64: 4, 64, 128>
// CHECK-SAME: llm.cost = #llm.cost<flops = 4096, bytes = 2272, ns = 2312, workspace = 1792>
//
// Two chunks: the weight twice more (2 * 128), the sum read once and written once more (2 * 256), four launches more.
// CHECK: chunk = 4 : i64
// CHECK-SAME: llm.cost = #llm.cost<flops = 4096, bytes = 3040, ns = 3120, workspace = 1280>
//
// One granule: the sum of dw is dw itself (128). Workspace: no wide factors, so what a GPU keeps of a row's tile has
// bytes of its own, 64 of largest logits (32 used) and 32 of powers, in addition to 64 of losses and 1024 of logits.
// CHECK: chunk = 8 : i64, llm.bytes
// CHECK-SAME: llm.cost = #llm.cost<flops = 4096, bytes = 2144, ns = 2184, workspace = 1184>
//
// Of a constant x there is no dx: one launch, 256 + 128 + 64 bytes and 1024 FLOPs less than the first.
// CHECK: constant_x
// CHECK-SAME: llm.bytes = array<i64: 4, 128>
// CHECK-SAME: llm.cost = #llm.cost<flops = 3072, bytes = 1824, ns = 1854, workspace = 1792>
func.func @step(%x: tensor<8x4xbf16>, %w: tensor<16x4xbf16>, %t: tensor<8xi32>) {
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 8 : i64, granule = 4 : i64}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<16x4xbf16>)
  %1:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 4 : i64, granule = 4 : i64}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<16x4xbf16>)
  %2:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 8 : i64}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<16x4xbf16>)
  %3:2 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 8 : i64, granule = 4 : i64, constant_x}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<16x4xbf16>)
  return
}
