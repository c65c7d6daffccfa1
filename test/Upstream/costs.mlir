// Iteration space times the arithmetic of one point; traffic by maps: a vector that is broadcast is read once, a destination that
// is only written not at all. What converts, or computes with whole numbers, is no FLOP.
// RUN: llmmem-opt --annotate-memory=device=cpu %s | FileCheck %s
#mk = affine_map<(i, j, k) -> (i, k)>
#kn = affine_map<(i, j, k) -> (k, j)>
#mn = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

func.func @step(%x: tensor<8x16xbf16>, %w: tensor<16x32xbf16>, %bias: tensor<32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  // One result of 8 * 32 * 4 bytes.
  // CHECK: linalg.fill {{.*}}llm.cost = #llm.cost<flops = 0, bytes = 1024,
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  // 2 * 8 * 32 * 16; 8 * 16 * 2 and 16 * 32 * 2 read, 1024 read and written.
  // CHECK: linalg.matmul {{.*}}llm.cost = #llm.cost<flops = 8192, bytes = 3328,
  %p = linalg.matmul ins(%x, %w : tensor<8x16xbf16>, tensor<16x32xbf16>) outs(%z : tensor<8x32xf32>) -> tensor<8x32xf32>
  // Two a point; 1024 and 128 read, 1024 written.
  // CHECK: linalg.generic {{.*}}llm.cost = #llm.cost<flops = 512, bytes = 2176,
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<8x32xf32>, tensor<32xf32>) outs(%e : tensor<8x32xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %i = linalg.index 0 : index
      %s = arith.addf %a, %b : f32
      %r = math.tanh %s : f32
      linalg.yield %r : f32
  } -> tensor<8x32xf32>
  // CHECK: math.exp {{.*}}llm.cost = #llm.cost<flops = 256, bytes = 2048,
  %y = math.exp %h : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
