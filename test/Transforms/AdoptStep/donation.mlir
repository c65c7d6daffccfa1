// What JAX gives away is overwritten where nobody reads it any more: %m in place, by a chain; %w by what is written last.
// The counter, which the loss depends on, is held twice, lest a recomputation of the loss reads the new one.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops --adopt-step %s 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAID < %t.err

// SAID: remark: result 3 is taken for the loss (--loss=N says otherwise); 2 arguments are overwritten by their results

// CHECK: func.func @main(%arg0: tensor<4xf32> {llm.donated = 0 : i64, llm.role = "optimizer_state"
// CHECK-SAME: %arg1: tensor<4xbf16> {llm.donated = 1 : i64, llm.role = "param"
// CHECK-SAME: %arg2: tensor<f32> {llm.role = "param"
// CHECK-SAME: %arg3: tensor<4xbf16> {llm.role = "input"}
// CHECK-SAME: llm.loss = 3
func.func @main(%m: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<4xbf16> {tf.aliasing_output = 1 : i32},
                %count: tensor<f32> {tf.aliasing_output = 2 : i32}, %x: tensor<4xbf16>)
    -> (tensor<4xf32>, tensor<4xbf16>, tensor<f32>, tensor<f32>) {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: "stablehlo.add"(%arg2{{.*}}llm.phase = "forward"
  // CHECK-NOT: llm.in_argument
  // CHECK: "stablehlo.multiply"(%arg1
  %next = "stablehlo.add"(%count, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = "stablehlo.multiply"(%w, %x) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %wide = "stablehlo.convert"(%y) : (tensor<4xbf16>) -> tensor<4xf32>
  %loss = "stablehlo.reduce"(%wide, %next) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: "stablehlo.convert"(%arg3{{.*}}llm.phase = "backward"
  %dw = "stablehlo.convert"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: "stablehlo.negate"(%arg0{{.*}}llm.in_argument = array<i64: 0>
  %old = "stablehlo.negate"(%m) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.add"{{.*}}llm.in_argument = array<i64: 0>
  %new_m = "stablehlo.add"(%old, %dw) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.convert"{{.*}}llm.in_argument = array<i64: 1>
  %new_w = "stablehlo.convert"(%new_m) : (tensor<4xf32>) -> tensor<4xbf16>
  return %new_m, %new_w, %next, %loss : tensor<4xf32>, tensor<4xbf16>, tensor<f32>, tensor<f32>
}
