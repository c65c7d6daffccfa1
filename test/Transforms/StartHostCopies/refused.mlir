// RUN: llmmem-opt --start-host-copies --verify-diagnostics --split-input-file %s

// expected-error @below {{has no 'llm.arena'; run apply-checkpoints, or plan-arena for a step without a plan}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  return %x : tensor<64xf32>
}
