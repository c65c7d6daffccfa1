// RUN: llmmem-opt --inline-calls --verify-diagnostics %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls 'again', which calls itself; a plan needs straight-line code}}
  %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
