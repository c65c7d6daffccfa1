// These ops stay apart, for the reasons below.
//
// RUN: llmmem-opt --group-kernels --split-input-file %s | FileCheck %s
//
// CHECK-NOT: llm.kernel

// The sum is read by the norm and by the next block: the norm must stay recomputable from the sum alone.
func.func @residual_and_norm(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %w: tensor<8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>) {
  %sum = llm.add %a, %b : tensor<1x4x8xf32>
  %y, %rstd = llm.rms_norm %sum, %w {eps = 1.0e-5 : f64} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
  return %sum, %y, %rstd : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>
}

// -----

// The second product comes after the first sum: in one kernel, three gradients would live at once instead of two.
func.func @longer_lives(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>, %c: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %first = llm.add %a, %b : tensor<1x4x8xf32>
  %product = llm.linear %c, %w layout(in_out) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %second = llm.add %first, %product : tensor<1x4x8xf32>
  return %second : tensor<1x4x8xf32>
}

// -----

// Reports and plans count by phase and by block.
func.func @phases_and_blocks(%a: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %0 = llm.gelu %a {llm.phase = "forward"} : tensor<1x4x8xf32>
  %1 = llm.gelu %0 {llm.phase = "backward"} : tensor<1x4x8xf32>
  %2 = llm.silu %a {llm.block = 0 : i64} : tensor<1x4x8xf32>
  %3 = llm.silu %2 {llm.block = 1 : i64} : tensor<1x4x8xf32>
  return %1, %3 : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// -----

// A row op reads its operand once for each of its sums: Philox would run as often.
func.func @costly(%y: tensor<1x4x8xf32>, %dy: tensor<1x4x8xf32>, %seed: tensor<2xi32>) -> tensor<1x4x8xf32> {
  %d = llm.dropout %dy, %seed {p = 0.5 : f64, key = 1 : i64} : tensor<1x4x8xf32>, tensor<2xi32>
  %dx = llm.softmax_grad %y, %d : tensor<1x4x8xf32>
  return %dx : tensor<1x4x8xf32>
}

// -----

// gelu(x) is read by a product of the backward, which has no kernel to share: it stays the planner's to keep or not.
func.func @read_by_a_product(%x: tensor<1x4x8xf32>, %dy: tensor<1x4x8xf32>) -> (tensor<8x8xf32>, tensor<1x4x8xf32>) {
  %act = llm.gelu %x {llm.phase = "forward"} : tensor<1x4x8xf32>
  %dw = llm.linear_weight_grad %act, %dy layout(in_out) {llm.phase = "backward"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<8x8xf32>
  %dx = llm.gelu_grad %x, %dy {llm.phase = "backward"} : tensor<1x4x8xf32>
  return %dw, %dx : tensor<8x8xf32>, tensor<1x4x8xf32>
}

// -----

// Two row ops: the second needs whole rows of the first.
func.func @two_row_ops(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = llm.softmax %x : tensor<1x4x8xf32>
  %1 = llm.softmax %0 : tensor<1x4x8xf32>
  return %1 : tensor<1x4x8xf32>
}

// -----

// The keys are turned first, so the split is needed anyway.
func.func @read_by_rope(%qkv: tensor<1x4x24xf32>) -> tensor<1x4x8xf32> {
  %q, %k, %v = llm.split %qkv : (tensor<1x4x24xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  %turned = llm.scale %k {factor = 2.0 : f64} : tensor<1x4x8xf32>
  %out, %lse = llm.attention %q, %turned, %v {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return %out : tensor<1x4x8xf32>
}

// -----

// A part that attention does not read need not be whole heads.
func.func @another_part(%x: tensor<1x4x27xf32>) -> tensor<1x4x8xf32> {
  %q, %k, %v, %rest = llm.split %x
    : (tensor<1x4x27xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x3xf32>)
  %out, %lse = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  return %out : tensor<1x4x8xf32>
}
