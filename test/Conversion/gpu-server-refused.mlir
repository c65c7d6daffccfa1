// What a server alone updates has no kernel on a GPU yet, also where it could share the launch of its neighbour.
//
// RUN: not llmmem-opt --convert-step-to-kernels=target=gpu %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: 'llm.sgd' op of a server has no kernel on a GPU yet; lower the step for a CPU
func.func @step(%a: tensor<5000xf32> {llm.donated = 0 : i64}, %ga: tensor<5000xf32>,
                %b: tensor<64xf32> {llm.donated = 1 : i64}, %gb: tensor<64xf32>, %lr: tensor<f32>)
    -> (tensor<5000xf32>, tensor<64xf32>) attributes {llm.arena = 0 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  %a1 = llm.sgd %a, %ga, %lr {server = ["dp"], weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<5000xf32>, tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
  %b1 = llm.sgd %b, %gb, %lr {server = ["dp"], weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<64xf32>, tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %a1, %b1 : tensor<5000xf32>, tensor<64xf32>
}
