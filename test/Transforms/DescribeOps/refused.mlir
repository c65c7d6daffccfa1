// Each op that cannot be planned is refused by name and place, once for each name.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --split-input-file --verify-diagnostics %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'other.op' has no cost, so no plan can be priced (of 2 such ops this is the first)}}
  %0 = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "other.op"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'stablehlo.custom_call' of 'mine' calls a function that no op table describes; add an entry with its 'targets' in --op-table=FILE}}
  %2 = "stablehlo.custom_call"(%1) <{call_target_name = "mine"}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'stablehlo.send' meets other devices}}
  %3 = "stablehlo.send"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
  // expected-error @below {{'stablehlo.dynamic_reshape' has a shape that is known only when it runs; refine the shapes first}}
  %0 = "stablehlo.dynamic_reshape"(%x, %n) : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
