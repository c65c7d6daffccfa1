func.func @forward(%x: tensor<64xf32>, %w: tensor<4x64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<64xf32>
  %wide = tensor.empty() : tensor<64x64xf32>
  %h = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<64xf32>) {
    %row = tensor.extract_slice %w[%i, 0] [1, 64] [1, 1] : tensor<4x64xf32> to tensor<64xf32>
    %b = linalg.mul ins(%a, %row : tensor<64xf32>, tensor<64xf32>) outs(%a : tensor<64xf32>) -> tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  %b = linalg.broadcast ins(%h : tensor<64xf32>) outs(%wide : tensor<64x64xf32>) dimensions = [0]
  %c = linalg.exp ins(%b : tensor<64x64xf32>) outs(%wide : tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %zero = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %t = linalg.transpose ins(%c : tensor<64x64xf32>) outs(%wide : tensor<64x64xf32>) permutation = [1, 0]
  %s = linalg.reduce { arith.addf } ins(%t : tensor<64x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [1]
  %y = linalg.add ins(%s, %h : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
