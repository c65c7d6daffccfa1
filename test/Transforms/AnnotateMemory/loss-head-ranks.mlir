// Over a split vocabulary each chunk has an all_gather between its kernels, whose time adds to theirs, and the log-sum-exps that
// it moves have bytes. All else is as without ranks (loss-head.mlir).
// RUN: llmmem-opt %s --annotate-memory=device=%S/Inputs/unit-link.json | FileCheck %s

// One chunk: a message of 100 ns, 8 tokens of 4 bytes at a byte a ns, a launch of 10: 2312 + 142.
// Workspace: 1792, of this rank's log-sum-exps 64 (32 used), and of both ranks' 64.
// CHECK: chunk = 8 : i64
// CHECK-SAME: llm.cost = #llm.cost<flops = 4096, bytes = 2272, ns = 2454, workspace = 1920>
//
// Two chunks: two messages and launches, the same bytes: 3120 + 252.
// CHECK: chunk = 4 : i64
// CHECK-SAME: llm.cost = #llm.cost<flops = 4096, bytes = 3040, ns = 3372, workspace = 1408>
func.func @step(%x: tensor<8x4xbf16>, %w: tensor<16x4xbf16>, %t: tensor<8xi32>) attributes {llm.mesh = #llm.mesh<tp = 2>} {
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 8 : i64, granule = 4 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 31>}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<16x4xbf16>)
  %1:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 4 : i64, granule = 4 : i64, vocabulary = #llm.vocabulary<axes = ["tp"], size = 31>}
    : (tensor<8x4xbf16>, tensor<16x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x4xbf16>, tensor<16x4xbf16>)
  return
}
