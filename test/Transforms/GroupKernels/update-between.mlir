// The update between two members overwrites the weight that the first reads: the kernel stands above it.
//
// RUN: llmmem-opt --group-kernels %s | FileCheck %s

// CHECK-LABEL: func @step
//       CHECK: llm.kernel
//       CHECK: llm.sgd
func.func @step(%x: tensor<1x4x8xf32>, %rstd: tensor<1x4xf32>, %w: tensor<8xf32> {llm.donated = 1 : i64},
                %dy: tensor<1x4x8xf32>, %so_far: tensor<1x4x8xf32>, %rate: tensor<f32>)
    -> (tensor<1x4x8xf32>, tensor<8xf32>) {
  %dw = llm.norm_weight_grad %x, %dy, %rstd : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>) -> tensor<8xf32>
  %dx = llm.rms_norm_grad %x, %rstd, %w, %dy : (tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %new = llm.sgd %w, %dw, %rate {weight_decay = 0.0 : f64, clip_norm = 0.0 : f64} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %sum = llm.add %so_far, %dx : tensor<1x4x8xf32>
  return %sum, %new : tensor<1x4x8xf32>, tensor<8xf32>
}
