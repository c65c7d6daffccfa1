// RUN: llmmem-opt --start-host-copies --verify-diagnostics --split-input-file %s

// expected-error @below {{has no 'llm.arena'; run plan-arena}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  return %x : tensor<64xf32>
}
