// RUN: llmmem-opt --plan-checkpoints=policy=budget --verify-diagnostics %s

// expected-error @below {{policy=budget needs budget, as in budget=40GB}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
