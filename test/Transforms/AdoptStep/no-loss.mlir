// RUN: llmmem-opt --allow-unregistered-dialect --adopt-step --verify-diagnostics %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{no result is one floating-point number alone, so no loss was found and all ops are one phase; --loss=N names it}}
  return %0 : tensor<4xf32>
}
