// An intermediate product may exceed what 64 bits count, although the size itself does not.
// RUN: llmmem-opt %s --annotate-memory --split-input-file | FileCheck %s

// 2^20 rows of a table of 2^28 rows of 2^27 bytes are read, and written: 2 * 2^47 bytes and 2^22 of ids.
// CHECK: llm.embedding {{.*}}llm.cost = #llm.cost<flops = 0, bytes = 281474980904960,
func.func @step(%ids: tensor<1048576xi32>, %t: tensor<268435456x33554432xf32>) -> tensor<1048576x33554432xf32> {
  %0 = llm.embedding %ids, %t : (tensor<1048576xi32>, tensor<268435456x33554432xf32>) -> tensor<1048576x33554432xf32>
  return %0 : tensor<1048576x33554432xf32>
}

// -----

// 2^32 windows of 2^32 elements look at 2^33 - 1 elements: 4 * (2^33 - 1) bytes are read and 2^34 written.
// CHECK: linalg.generic
// CHECK: llm.cost = #llm.cost<flops = 0, bytes = 51539607548,
func.func @step(%x: tensor<8589934591xf32>, %w: tensor<4294967296xf32>) -> tensor<4294967296xf32> {
  %e = tensor.empty() : tensor<4294967296xf32>
  %s = tensor.empty() : tensor<4294967296xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a + b)>, affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<8589934591xf32>, tensor<4294967296xf32>) outs(%e : tensor<4294967296xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<4294967296xf32>
  return %0 : tensor<4294967296xf32>
}
