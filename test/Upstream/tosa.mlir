// Products have two FLOPs a tap, reductions one for each element that they read, movements none; a reshape is a view, and its
// shape, a constant, has no bytes.
// RUN: llmmem-opt --checkpoint-policy=none --checkpoint-device=cpu %s | FileCheck %s

func.func @forward(%x: tensor<1x8x16xf32>, %w: tensor<1x16x4xf32>, %i: tensor<1x6x6x3xf32>, %k: tensor<5x3x3x3xf32>, %b: tensor<5xf32>)
    -> (tensor<1x4x1xf32>, tensor<1x4x4x5xf32>) {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  // CHECK: tosa.matmul {{.*}}llm.cost = #llm.cost<flops = 1024,
  %p = tosa.matmul %x, %w, %zp, %zp : (tensor<1x8x16xf32>, tensor<1x16x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x4xf32>
  %shape = tosa.const_shape {values = dense<[1, 4, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  // CHECK: tosa.reshape {{.*}}llm.cost = #llm.cost<flops = 0, bytes = 0,
  %q = tosa.reshape %p, %shape : (tensor<1x8x4xf32>, !tosa.shape<3>) -> tensor<1x4x8xf32>
  // CHECK: tosa.exp {{.*}}llm.cost = #llm.cost<flops = 32,
  %e = tosa.exp %q : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  // CHECK: tosa.reduce_sum {{.*}}llm.cost = #llm.cost<flops = 32,
  %s = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<1x4x8xf32>) -> tensor<1x4x1xf32>
  // 2 * 4 * 4 * 5 * 3 * 3 * 3
  // CHECK: tosa.conv2d {{.*}}llm.cost = #llm.cost<flops = 4320,
  %c = tosa.conv2d %i, %k, %b, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x6x6x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x5xf32>
  return %s, %c : tensor<1x4x1xf32>, tensor<1x4x4x5xf32>
}
