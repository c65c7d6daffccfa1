// Gradients of GPT-2 124M's weights (8 x 1024 tokens), of few tiles for so many terms: of the output, of q, k and v, of up and of down.
func.func @step(%x: tensor<8192x768xbf16>, %d: tensor<8192x768xbf16>, %dq: tensor<8192x2304xbf16>, %dh: tensor<8192x3072xbf16>)
    -> (tensor<768x768xbf16>, tensor<768x2304xbf16>, tensor<768x3072xbf16>, tensor<3072x768xbf16>) {
  %0 = llm.linear_weight_grad %x, %d layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x768xbf16>) -> tensor<768x768xbf16>
  %1 = llm.linear_weight_grad %x, %dq layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x2304xbf16>) -> tensor<768x2304xbf16>
  %2 = llm.linear_weight_grad %x, %dh layout(in_out) : (tensor<8192x768xbf16>, tensor<8192x3072xbf16>) -> tensor<768x3072xbf16>
  %3 = llm.linear_weight_grad %dh, %d layout(in_out) : (tensor<8192x3072xbf16>, tensor<8192x768xbf16>) -> tensor<3072x768xbf16>
  return %0, %1, %2, %3 : tensor<768x768xbf16>, tensor<768x2304xbf16>, tensor<768x3072xbf16>, tensor<3072x768xbf16>
}
