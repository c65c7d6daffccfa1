// Calls are inlined also inside of regions of unregistered ops, and what nobody calls is erased.
// RUN: llmmem-opt --allow-unregistered-dialect --inline-calls=entry=main %s | FileCheck %s

// CHECK: module attributes {llm.entry = "main"}
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>)
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  // CHECK-NEXT: %[[Y:.*]] = "test.twice"(%[[X]])
  // CHECK-NEXT: %[[Z:.*]] = "test.loop"(%[[Y]]) ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   %[[B:.*]] = "test.twice"(%[[A]])
  // CHECK-NEXT:   "test.yield"(%[[B]])
  // CHECK: "test.reduce"(%[[Z]]) ({
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "test.loop"(%0) ({
  ^bb0(%a: tensor<4xf32>):
    %b = func.call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "test.yield"(%b) : (tensor<4xf32>) -> ()
  }, {
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @sum(%1) : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
// CHECK-NOT: func.func private
func.func private @sum(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = "test.reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "test.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "test.yield"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.twice"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
