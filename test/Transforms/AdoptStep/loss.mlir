// RUN: llmmem-opt --allow-unregistered-dialect --adopt-step=loss=1 --split-input-file --verify-diagnostics %s

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{gives 1 results, and result 1 is to be the loss}}
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>, %y: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %0 = "stablehlo.tanh"(%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{result 1 is to be the loss, and has type 'tensor<4xf32>'; expected one floating-point number}}
  return %0, %y : tensor<f32>, tensor<4xf32>
}
