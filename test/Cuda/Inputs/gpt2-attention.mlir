// Attention of GPT-2 124M: 8 x 1024 tokens, 12 heads of 64.
func.func @step(%q: tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16> {
  %o, %l = llm.attention %q, %q, %q {heads = 12 : i64, kv_heads = 12 : i64, scale = 0.125 : f64}
    : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> (tensor<8x1024x768xbf16>, tensor<8x12x1024xf32>)
  return %o : tensor<8x1024x768xbf16>
}
