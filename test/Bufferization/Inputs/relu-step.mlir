// Two layers, a relu, the mean of squares, the backward by hand, and updates in place: as somebody writes it who has never heard
// of llmmem.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#mk = affine_map<(i, j, k) -> (i, k)>
#km = affine_map<(i, j, k) -> (k, i)>
#kn = affine_map<(i, j, k) -> (k, j)>
#nk = affine_map<(i, j, k) -> (j, k)>
#mn = affine_map<(i, j, k) -> (i, j)>
module {
  func.func @train(%w0: tensor<8x16xf32> {bufferization.writable = true}, %b0: tensor<16xf32> {bufferization.writable = true},
                   %w1: tensor<16x4xf32> {bufferization.writable = true}, %x: tensor<32x8xf32>, %t: tensor<32x4xf32>)
      -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x4xf32>, tensor<f32>) {
    %zero = arith.constant 0.0 : f32
    %rate = arith.constant 0.1 : f32
    %scale = arith.constant dense<0.015625> : tensor<32x4xf32>

    // Forward.
    %e0 = tensor.empty() : tensor<32x16xf32>
    %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x16xf32>) -> tensor<32x16xf32>
    %p = linalg.matmul ins(%x, %w0 : tensor<32x8xf32>, tensor<8x16xf32>) outs(%z0 : tensor<32x16xf32>) -> tensor<32x16xf32>
    %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p, %b0 : tensor<32x16xf32>, tensor<16xf32>) outs(%e0 : tensor<32x16xf32>) {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %sum = arith.addf %a, %b : f32
        %r = arith.maximumf %sum, %zero : f32
        linalg.yield %r : f32
    } -> tensor<32x16xf32>
    %e1 = tensor.empty() : tensor<32x4xf32>
    %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
    %y = linalg.matmul ins(%h, %w1 : tensor<32x16xf32>, tensor<16x4xf32>) outs(%z1 : tensor<32x4xf32>) -> tensor<32x4xf32>
    %d = linalg.sub ins(%y, %t : tensor<32x4xf32>, tensor<32x4xf32>) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
    %sq = linalg.square ins(%d : tensor<32x4xf32>) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
    %el = tensor.empty() : tensor<f32>
    %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
    %loss = linalg.reduce ins(%sq : tensor<32x4xf32>) outs(%zl : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %s: f32) {
        %r = arith.addf %a, %s : f32
        linalg.yield %r : f32
      }

    // Backward.
    %dy = linalg.mul ins(%d, %scale : tensor<32x4xf32>, tensor<32x4xf32>) outs(%e1 : tensor<32x4xf32>) -> tensor<32x4xf32>
    %ht0 = tensor.empty() : tensor<16x32xf32>
    %ht = linalg.transpose ins(%h : tensor<32x16xf32>) outs(%ht0 : tensor<16x32xf32>) permutation = [1, 0]
    %ew1 = tensor.empty() : tensor<16x4xf32>
    %zw1 = linalg.fill ins(%zero : f32) outs(%ew1 : tensor<16x4xf32>) -> tensor<16x4xf32>
    %dw1 = linalg.matmul ins(%ht, %dy : tensor<16x32xf32>, tensor<32x4xf32>) outs(%zw1 : tensor<16x4xf32>) -> tensor<16x4xf32>
    %zh = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x16xf32>) -> tensor<32x16xf32>
    %dh = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%dy, %w1 : tensor<32x4xf32>, tensor<16x4xf32>) outs(%zh : tensor<32x16xf32>) -> tensor<32x16xf32>
    %dp = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%dh, %h : tensor<32x16xf32>, tensor<32x16xf32>) outs(%e0 : tensor<32x16xf32>) {
      ^bb0(%g: f32, %v: f32, %out: f32):
        %on = arith.cmpf ogt, %v, %zero : f32
        %r = arith.select %on, %g, %zero : f32
        linalg.yield %r : f32
    } -> tensor<32x16xf32>
    %ew0 = tensor.empty() : tensor<8x16xf32>
    %zw0 = linalg.fill ins(%zero : f32) outs(%ew0 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %dw0 = linalg.matmul indexing_maps = [#km, #kn, #mn]
        ins(%x, %dp : tensor<32x8xf32>, tensor<32x16xf32>) outs(%zw0 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %eb = tensor.empty() : tensor<16xf32>
    %zb = linalg.fill ins(%zero : f32) outs(%eb : tensor<16xf32>) -> tensor<16xf32>
    %db = linalg.reduce { arith.addf } ins(%dp : tensor<32x16xf32>) outs(%zb : tensor<16xf32>) dimensions = [0]

    // Update.
    %w0new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%dw0 : tensor<8x16xf32>) outs(%w0 : tensor<8x16xf32>) {
      ^bb0(%g: f32, %w: f32):
        %s = arith.mulf %g, %rate : f32
        %r = arith.subf %w, %s : f32
        linalg.yield %r : f32
    } -> tensor<8x16xf32>
    %b0new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%db : tensor<16xf32>) outs(%b0 : tensor<16xf32>) {
      ^bb0(%g: f32, %w: f32):
        %s = arith.mulf %g, %rate : f32
        %r = arith.subf %w, %s : f32
        linalg.yield %r : f32
    } -> tensor<16xf32>
    %w1new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%dw1 : tensor<16x4xf32>) outs(%w1 : tensor<16x4xf32>) {
      ^bb0(%g: f32, %w: f32):
        %s = arith.mulf %g, %rate : f32
        %r = arith.subf %w, %s : f32
        linalg.yield %r : f32
    } -> tensor<16x4xf32>
    return %w0new, %b0new, %w1new, %loss : tensor<8x16xf32>, tensor<16xf32>, tensor<16x4xf32>, tensor<f32>
  }
}
