// Optimizers that read whole rows and columns cannot update parts.
// RUN: llmmem-opt --differentiate --split-input-file --verify-diagnostics %s

module attributes {llm.training = #llm.training<optimizer = adafactor, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64>} {
  func.func @loss(%x: tensor<3x4xf32>, %t: tensor<3xi32>,
    // expected-error @below {{parameter 'w' is split over ranks, and adafactor reads its whole rows and columns; share the batch alone (--mesh=dp=... with --zero=0), or take adamw, lion or sgd}}
    %w: tensor<4x4xf32> {llm.role = "param", llm.name = "w", llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 1>}
  ) -> tensor<f32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
    %y = llm.linear %x, %w layout(in_out) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}

// -----

module attributes {llm.training = #llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, clip_norm = 0.0 : f64, moments = i8>} {
  func.func @loss(%x: tensor<3x64xf32>, %t: tensor<3xi32>,
    // expected-error @below {{parameter 'w' is split over ranks, and the blocks of its optimizer's state in 8 bits are those of the whole; share the batch alone (--mesh=dp=... with --zero=0), or import with --optimizer-state f32 or bf16}}
    %w: tensor<64x64xf32> {llm.role = "param", llm.name = "w", llm.data_parallel = #llm.data_parallel<axes = ["dp"], zero = 1>}
  ) -> tensor<f32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
    %y = llm.linear %x, %w layout(in_out) : (tensor<3x64xf32>, tensor<64x64xf32>) -> tensor<3x64xf32>
    %loss, %lse = llm.cross_entropy %y, %t : (tensor<3x64xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
    return %loss : tensor<f32>
  }
}
