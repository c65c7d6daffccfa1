// RUN: llmmem-opt --annotate-memory --verify-diagnostics %s

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'tensor.cast' has no cost, so no plan can be priced; implement CostOpInterface}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
