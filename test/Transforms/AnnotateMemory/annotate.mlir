// RUN: llmmem-opt --annotate-memory %s | FileCheck %s

// The product has 2 * 4 * 64 * 32 FLOPs and moves 1024 + 8192 + 512 bytes.
// CHECK: llm.linear
// CHECK-SAME: llm.bytes = array<i64: 512>
// CHECK-SAME: llm.cost = #llm.cost<flops = 16384, bytes = 9728, ns = 2003, workspace = 0>
// CHECK-SAME: llm.phase = "forward"
func.func @step(%x: tensor<4x64xf32>, %w: tensor<64x32xf32>) -> tensor<4x32xf32> {
  %0 = llm.linear %x, %w layout(in_out) : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
