// The plan chooses the chunk: all tokens where there is room, fewer where that is cheaper than no plan. apply-checkpoints
// sets it, and nothing of the decision is left.
// RUN: llmmem-opt %s --plan-checkpoints="budget=6000" | FileCheck %s --check-prefix=DECIDED
// RUN: llmmem-opt %s --plan-checkpoints="budget=6000" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=WHOLE
// RUN: llmmem-opt %s --plan-checkpoints="budget=4500" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=HALF
// RUN: llmmem-opt %s --plan-checkpoints="policy=none" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=WHOLE
// RUN: llmmem-opt %s --plan-checkpoints="policy=none chunk=16" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=ASKED
// RUN: llmmem-opt %s --plan-checkpoints="policy=least-peak" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=LEAST
// RUN: not llmmem-opt %s --plan-checkpoints="policy=none chunk=12" 2>&1 | FileCheck %s --check-prefix=NO-CHUNK
// RUN: not llmmem-opt %s --plan-checkpoints="policy=none chunk=most" 2>&1 | FileCheck %s --check-prefix=NO-WORD
// RUN: not llmmem-opt %s --plan-checkpoints="policy=none chunk=0" 2>&1 | FileCheck %s --check-prefix=NO-WORD

// x holds 64 * 4 * 4 = 1024 bytes, w 128, targets 256: 1408 resident, and dx 1024, dw 128. Logits of 64 tokens are
// 64 * 8 * 4 = 2048 bytes, and 256 of losses: 4.9 kB in all, and 1 kB less with half the tokens.
// DECIDED: chunk = 64 : i64, granule = 8 : i64, llm.chunk = 64 : i64
// WHOLE: chunk = 64 : i64, granule = 8 : i64
// WHOLE-NOT: llm.chunk
// HALF: chunk = 32 : i64, granule = 8 : i64
// HALF-NOT: llm.chunk
// ASKED: chunk = 16 : i64, granule = 8 : i64
// LEAST: chunk = 8 : i64, granule = 8 : i64
// NO-CHUNK: chunk.mlir:[[#]]:{{[0-9]+}}: error: 'llm.loss_head' op has a chunk of 12 tokens, expected a multiple of 8, or all 64
// NO-WORD: error: chunk: expected auto, whole, or a number of tokens, not '{{most|0}}'
func.func @step(%x: tensor<64x4xf32>, %w: tensor<8x4xf32>, %t: tensor<64xi32>)
    -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>) {
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 64 : i64, granule = 8 : i64, llm.phase = "backward"}
    : (tensor<64x4xf32>, tensor<8x4xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>
}
