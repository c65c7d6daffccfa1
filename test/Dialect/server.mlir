// The axes of a server are those of the mesh.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%w: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>) -> tensor<4xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{runs over axis "tp", expected one of #llm.mesh<dp = 2>}}
  %n = llm.sgd %w, %g, %lr {server = ["tp"], weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

func.func @f(%w: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{has a group but no mesh}}
  %n = llm.sgd %w, %g, %lr {server = ["dp"], weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}
