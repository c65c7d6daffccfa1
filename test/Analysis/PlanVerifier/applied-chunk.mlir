// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// A chunk that was decided and not set: the op runs as it stands.
func.func @step(%x: tensor<64x4xf32>, %w: tensor<8x4xf32>, %t: tensor<64xi32>) -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>) attributes {llm.arena = 3588 : i64, llm.peak = 4868 : i64} {
  // expected-error @below {{[applied] has 'llm.chunk', which was not applied; run apply-checkpoints}}
  %0:3 = llm.loss_head %x, %w, %t layout(out_in) {chunk = 64 : i64, granule = 8 : i64, llm.chunk = 32 : i64, llm.offsets = array<i64: 3584, 2304, 3328>, llm.phase = "backward", llm.workspace = array<i64: 0, 2304>}
    : (tensor<64x4xf32>, tensor<8x4xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<64x4xf32>, tensor<8x4xf32>
}
