// Constants as a framework elides them: one of each kind of number, and two of a type.
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xi32>) {
  %scale = arith.constant dense_resource<__elided__> : tensor<4x8xf32>
  %shift = arith.constant dense_resource<__elided__> : tensor<4x8xf32>
  %whole = arith.constant dense<...> : tensor<8xi32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %scaled = linalg.mul ins(%x, %scale : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %shifted = linalg.add ins(%scaled, %shift : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %integers = tensor.empty() : tensor<8xi32>
  %twice = linalg.add ins(%whole, %whole : tensor<8xi32>, tensor<8xi32>) outs(%integers : tensor<8xi32>) -> tensor<8xi32>
  return %shifted, %twice : tensor<4x8xf32>, tensor<8xi32>
}
