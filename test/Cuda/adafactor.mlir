// A weight of Adafactor's is the step's number to a power that is no whole one. The emulator asks the host for it; a GPU has
// no such function, in no type of numbers.
//
// RUN: llmmem-opt --target=cuda %s | FileCheck %s
// CHECK: gpu.binary @{{.*}}chip = "sm_90a"
func.func @step(%a: tensor<8x4xf32> {llm.donated = 0 : i64}, %ga: tensor<8x4xf32>, %rows: tensor<8xf32> {llm.donated = 1 : i64},
                %columns: tensor<4xf32> {llm.donated = 2 : i64}, %b: tensor<8xf64> {llm.donated = 3 : i64}, %gb: tensor<8xf64>,
                %all: tensor<8xf64> {llm.donated = 4 : i64}, %lr: tensor<f32>, %t: tensor<i32>)
    -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf64>, tensor<8xf64>) attributes {llm.arena = 512 : i64} {
  %a1:3 = llm.adafactor %a, %ga, %lr step(%t) state(%rows, %columns)
      {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64, llm.offsets = array<i64: -1, -1, -1>, llm.workspace = array<i64: 0, 76>}
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<i32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>)
  %b1:2 = llm.adafactor %b, %gb, %lr step(%t) state(%all)
      {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64, llm.offsets = array<i64: -1, -1>, llm.workspace = array<i64: 256, 40>}
    : (tensor<8xf64>, tensor<8xf64>, tensor<f32>, tensor<i32>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>)
  return %a1#0, %a1#1, %a1#2, %b1#0, %b1#1 : tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf64>, tensor<8xf64>
}
