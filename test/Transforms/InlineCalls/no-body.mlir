// RUN: llmmem-opt --inline-calls --verify-diagnostics %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls 'elsewhere', which has no body of one block to put in its place}}
  %0 = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
