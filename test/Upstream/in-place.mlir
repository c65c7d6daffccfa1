// An elementwise op takes over an operand that it reads in step; not one that it reads transposed, too, and not a part of
// something larger. tensor.empty has no bytes.
// RUN: llmmem-opt --plan-arena %s | FileCheck %s
#id = affine_map<(i, j) -> (i, j)>
#tr = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: @step
// CHECK-SAME: llm.arena = 512 : i64
func.func @step(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>) {
  // CHECK: tensor.empty() {llm.offsets = array<i64: -1>}
  %e = tensor.empty() : tensor<8x8xf32>
  // CHECK: linalg.exp {{.*}}llm.offsets = array<i64: [[#A:]]>
  %a = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.log {{.*}}llm.offsets = array<i64: [[#A]]>
  %b = linalg.log ins(%a : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.generic {{.*}}llm.offsets = array<i64: [[#B:]]>
  %c = linalg.generic {indexing_maps = [#id, #tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%p: f32, %q: f32, %out: f32):
      %r = arith.addf %p, %q : f32
      linalg.yield %r : f32
  } -> tensor<8x8xf32>
  // CHECK: tensor.extract_slice {{.*}}llm.offsets = array<i64: [[#B]]>
  %part = tensor.extract_slice %c[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  // CHECK: linalg.abs
  // CHECK-NOT: llm.offsets = array<i64: [[#B]]>
  %d = linalg.abs ins(%part : tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %c, %d : tensor<8x8xf32>, tensor<4x8xf32>
}
