// Biases by distance split by heads, and what a decoder reads along the batch.
// RUN: llmmem-opt --parallelize=mesh=dp=2,tp=2 %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %arg3: tensor<8x2xf32>
func.func @loss(%x: tensor<4x6x8xf32> {llm.role = "input"}, %l: tensor<4x6xi32> {llm.role = "input"},
                %w: tensor<8x8xf32> {llm.role = "param"}, %t: tensor<8x4xf32> {llm.role = "param"},
                %o: tensor<8x8xf32> {llm.role = "param"}, %e: tensor<5x8xf32> {llm.role = "param"}) -> tensor<f32> {
  // CHECK: llm.shift_tokens {{.*}} : tensor<2x6xi32>
  %ids = llm.shift_tokens %l {start = 0 : i64, padding = 0 : i64} : tensor<4x6xi32>
  %r = llm.embedding %ids, %e : (tensor<4x6xi32>, tensor<5x8xf32>) -> tensor<4x6x8xf32>
  %s = llm.add %x, %r : tensor<4x6x8xf32>
  %q = llm.linear %s, %w layout(out_in) : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
  %c = llm.attention_scores %q, %q {heads = 4 : i64, kv_heads = 4 : i64, scale = 1.0 : f64}
    : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x4x6x6xf32>
  // CHECK: llm.relative_bias %arg3 {{.*}} : tensor<8x2xf32> -> tensor<2x11xf32>
  %b = llm.relative_bias %t {queries = 6 : i64, keys = 6 : i64, max_distance = 9 : i64} : tensor<8x4xf32> -> tensor<4x11xf32>
  // CHECK: llm.add_relative_bias {{.*}} : tensor<2x2x6x6xf32>, tensor<2x11xf32>
  %a = llm.add_relative_bias %c, %b : tensor<4x4x6x6xf32>, tensor<4x11xf32>
  %p = llm.softmax %a : tensor<4x4x6x6xf32>
  %v = llm.attention_values %p, %q {heads = 4 : i64, kv_heads = 4 : i64, scale = 1.0 : f64}
    : (tensor<4x4x6x6xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %y = llm.linear %v, %o layout(out_in) : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
  %loss, %lse = llm.cross_entropy %y, %l : (tensor<4x6x8xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}
