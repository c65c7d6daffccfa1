// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%q: tensor<1x16x16xf32>, %l: tensor<1x1x16xf32>) -> tensor<1x16x16xf32> attributes {llm.arena = 3072 : i64, llm.peak = 4224 : i64} {
  // expected-error @below {{[overlap] has a workspace that meets its own result}}
  %dq, %dk, %dv = llm.attention_grad %q, %q, %q, %q, %l, %q {heads = 1 : i64, kv_heads = 1 : i64, scale = 1.0 : f64, llm.offsets = array<i64: 0, 1024, 2048>, llm.workspace = array<i64: 256, 64>} : (tensor<1x16x16xf32>, tensor<1x16x16xf32>, tensor<1x16x16xf32>, tensor<1x16x16xf32>, tensor<1x1x16xf32>, tensor<1x16x16xf32>) -> (tensor<1x16x16xf32>, tensor<1x16x16xf32>, tensor<1x16x16xf32>)
  return %dq : tensor<1x16x16xf32>
}
