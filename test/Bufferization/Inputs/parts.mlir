func.func @step(%x: tensor<4x8xf32>, %u: tensor<4x8xf32>) -> (tensor<16xf32>, tensor<6x8xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  // The left half does not lie in one piece: its rows one after another are a copy.
  %left = tensor.extract_slice %a[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %flat = tensor.collapse_shape %left [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %f = tensor.empty() : tensor<16xf32>
  %n = linalg.negf ins(%flat : tensor<16xf32>) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %padded = tensor.pad %u low[1, 0] high[1, 0] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<6x8xf32>
  // The elements of the same bytes twice.
  %sum = arith.addf %a, %a : tensor<4x8xf32>
  %both = tensor.concat dim(1) %a, %sum : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %n, %padded, %both : tensor<16xf32>, tensor<6x8xf32>, tensor<4x16xf32>
}
