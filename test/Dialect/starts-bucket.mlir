// A started bucket has one wait, for all of its results in their order.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @all(
func.func @all(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // CHECK: %[[SUMS:.*]]:2 = llm.all_reduce_bucket %arg0, %arg1 over ["dp"] {llm.started}
  %sums:2 = llm.all_reduce_bucket %x, %y over ["dp"] {llm.started} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  // CHECK: llm.wait %[[SUMS]]#0, %[[SUMS]]#1 : tensor<4xf32>, tensor<2xf32>
  %there:2 = llm.wait %sums#0, %sums#1 : tensor<4xf32>, tensor<2xf32>
  return %there#0, %there#1 : tensor<4xf32>, tensor<2xf32>
}

// -----

func.func @some(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sums:2 = llm.all_reduce_bucket %x, %y over ["dp"] {llm.started} : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  // expected-error @below {{waits for 1 values, expected the 2 results of what is started, in their order}}
  %there = llm.wait %sums#0 : tensor<4xf32>
  return %there : tensor<4xf32>
}

// -----

func.func @turned(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sums:2 = llm.all_reduce_bucket %x, %y over ["dp"] {llm.started} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // expected-error @below {{waits for 2 values, expected the 2 results of what is started, in their order}}
  %there:2 = llm.wait %sums#1, %sums#0 : tensor<4xf32>, tensor<4xf32>
  return %there#0 : tensor<4xf32>
}
