// RUN: llmmem-opt --annotate-memory --verify-diagnostics %s

// expected-error @below {{must be one straight-line block: a plan orders the ops of one block}}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}
