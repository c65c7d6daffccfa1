// The plan chooses the chunk of a loss head over a split vocabulary as it does any other's: its price is that of its mesh.
// RUN: llmmem-opt %s --plan-checkpoints="budget=7000" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=WHOLE
// RUN: llmmem-opt %s --plan-checkpoints="budget=5000" --apply-checkpoints --verify-plan | FileCheck %s --check-prefix=HALF

// x holds 64 * 4 * 4 = 1024 bytes, w 128, targets 256: 1408 resident, and dx 1024, dw 128. Logits of 64 tokens are
// 64 * 8 * 4 = 2048 bytes, 256 of losses, 256 of this rank's log-sum-exps and 512 of both ranks': 5.6 kB in all. Of half the
// tokens logits and log-sum-exps are 1.4 kB less.
// WHOLE: chunk = 64 : i64, granule = 8 : i64
// WHOLE-NOT: llm.chunk
// HALF: chunk = 32 : i64, granule = 8 : i64
// HALF-NOT: llm.chunk
func.func @step(%x: tensor<64x4xf32>, %w: tensor<8x4xf32>, %t: tensor<64xi32>)
    -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>) attributes {llm.mesh = #llm.mesh<tp = 2>} {
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 64 : i64, granule = 8 : i64, llm.phase = "backward", vocabulary = #llm.vocabulary<axes = ["tp"], size = 15>}
    : (tensor<64x4xf32>, tensor<8x4xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>
}
