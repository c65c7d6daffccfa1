// Packed sequences have a position for each query, and none where queries attend to what follows them.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%q: tensor<1x4x8xf32>, %t: tensor<1x3xi32>) {
  // expected-error @below {{'positions' has shape [1, 3], expected [1, 4]}}
  %0:2 = llm.attention %q, %q, %q at(%t) {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x3xi32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x4x8xf32>, %t: tensor<1x4xi32>) {
  // expected-error @below {{is bidirectional and has at(...), positions that count the keys before a query; expected one of the two}}
  %0:2 = llm.attention %q, %q, %q at(%t) {bidirectional, heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xi32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return
}
