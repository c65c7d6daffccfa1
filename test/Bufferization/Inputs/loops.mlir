#mk = affine_map<(i, j, k) -> (i, k)>
#id = affine_map<(i, j) -> (i, j)>
func.func @train(%x: tensor<8x16xf32>, %w: tensor<6x16x16xf32>, %y: tensor<8x16xf32>, %v: tensor<8x16xf32> {bufferization.writable = true}) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %h0 = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  // Layers, each with a part of the weights; the result is yielded from scratch bytes.
  %h = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %h0) -> (tensor<8x16xf32>) {
    %part = tensor.extract_slice %w[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<6x16x16xf32> to tensor<16x16xf32>
    %in = tensor.empty() : tensor<8x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%in : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = linalg.matmul ins(%a, %part : tensor<8x16xf32>, tensor<16x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
    %t = linalg.tanh ins(%p : tensor<8x16xf32>) outs(%in : tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %t : tensor<8x16xf32>
  }
  // Two values that change places each round, and a sum in place; a loop in a loop.
  %s:3 = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %h, %b = %y, %sum = %h0) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %more = scf.for %j = %c0 to %c6 step %c1 iter_args(%acc = %sum) -> (tensor<8x16xf32>) {
      %m = linalg.add ins(%a, %acc : tensor<8x16xf32>, tensor<8x16xf32>) outs(%acc : tensor<8x16xf32>) -> tensor<8x16xf32>
      %row = tensor.extract_slice %m[%j, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
      %re = tensor.empty() : tensor<1x16xf32>
      %neg = linalg.negf ins(%row : tensor<1x16xf32>) outs(%re : tensor<1x16xf32>) -> tensor<1x16xf32>
      %n = tensor.insert_slice %neg into %m[%j, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
      scf.yield %n : tensor<8x16xf32>
    }
    scf.yield %b, %a, %more : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  %l = linalg.add ins(%s#0, %s#2 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  // A parameter that is overwritten where it lies.
  %n = scf.for %i = %c0 to %c6 step %c1 iter_args(%p = %v) -> (tensor<8x16xf32>) {
    %q = linalg.sub ins(%p, %l : tensor<8x16xf32>, tensor<8x16xf32>) outs(%p : tensor<8x16xf32>) -> tensor<8x16xf32>
    scf.yield %q : tensor<8x16xf32>
  }
  return %n, %l, %s#1, %h0 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
