// RUN: llmmem-opt --plan-checkpoints=policy=most --verify-diagnostics %s

// expected-error @below {{most}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
