// The product of q, k and v of GPT-2 124M (8 x 1024 tokens) with the weight in both layouts, its weight's
// gradient in both, and attention of Llama-3-8B's heads, forward and backward.
func.func @step(%x: tensor<8192x768xbf16>, %w: tensor<768x2304xbf16>, %t: tensor<2304x768xbf16>, %dy: tensor<8192x2304xbf16>,
                %q: tensor<1x8192x4096xbf16>, %k: tensor<1x8192x1024xbf16>,
                %do: tensor<1x8192x4096xbf16>)
    -> (tensor<8192x2304xbf16>, tensor<8192x2304xbf16>, tensor<768x2304xbf16>, tensor<1x8192x4096xbf16>, tensor<2304x768xbf16>,
        tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>) {
  %y = llm.linear %x, %w layout(in_out) : (tensor<8192x768xbf16>, tensor<768x2304xbf16>) -> tensor<8192x2304xbf16>
  %z = llm.linear %x, %t layout(out_in) : (tensor<8192x768xbf16>, tensor<2304x768xbf16>) -> tensor<8192x2304xbf16>
  %dw = llm.linear_weight_grad %x, %dy layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x2304xbf16>) -> tensor<768x2304xbf16>
  %o, %l = llm.attention %q, %k, %k {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388347648318447 : f64}
    : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>)
  %dt = llm.linear_weight_grad %x, %dy layout(out_in) : (tensor<8192x768xbf16>, tensor<8192x2304xbf16>) -> tensor<2304x768xbf16>
  %dq, %dk, %dv = llm.attention_grad %q, %k, %k, %o, %l, %do {heads = 32 : i64, kv_heads = 8 : i64, scale = 0.088388347648318447 : f64}
    : (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x4096xbf16>, tensor<1x32x8192xf32>,
       tensor<1x8192x4096xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>)
  return %y, %z, %dw, %o, %dt, %dq, %dk, %dv
    : tensor<8192x2304xbf16>, tensor<8192x2304xbf16>, tensor<768x2304xbf16>, tensor<1x8192x4096xbf16>, tensor<2304x768xbf16>,
      tensor<1x8192x4096xbf16>, tensor<1x8192x1024xbf16>, tensor<1x8192x1024xbf16>
}
