// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --verify-diagnostics %s

func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.while' runs as often as its data say, so it has no cost and no peak; write 'llm.cost' with both on it, or count to a constant}}
  %0:2 = "stablehlo.while"(%n, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    %end = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    %less = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
    "stablehlo.return"(%i, %v) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}
