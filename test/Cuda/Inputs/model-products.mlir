// Products of GPT-2 124M (8 x 1024 tokens): q, k and v, the output, down; and of Llama-3-8B (8192 tokens): q, with the weight
// turned, k, the gradient of up's input, and the gradient of up's weight.
func.func @step(%x: tensor<8192x768xbf16>, %wq: tensor<768x2304xbf16>, %wo: tensor<768x768xbf16>, %wd: tensor<3072x768xbf16>,
                %h: tensor<8192x3072xbf16>, %l: tensor<8192x4096xbf16>, %lq: tensor<4096x4096xbf16>, %lk: tensor<1024x4096xbf16>,
                %lu: tensor<14336x4096xbf16>, %lh: tensor<8192x14336xbf16>)
    -> (tensor<8192x2304xbf16>, tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<8192x4096xbf16>, tensor<8192x1024xbf16>,
        tensor<8192x4096xbf16>, tensor<14336x4096xbf16>) {
  %0 = llm.linear %x, %wq layout(in_out) : (tensor<8192x768xbf16>, tensor<768x2304xbf16>) -> tensor<8192x2304xbf16>
  %1 = llm.linear %x, %wo layout(in_out) : (tensor<8192x768xbf16>, tensor<768x768xbf16>) -> tensor<8192x768xbf16>
  %2 = llm.linear %h, %wd layout(in_out) : (tensor<8192x3072xbf16>, tensor<3072x768xbf16>) -> tensor<8192x768xbf16>
  %3 = llm.linear %l, %lq layout(out_in) : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  %4 = llm.linear %l, %lk layout(out_in) : (tensor<8192x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<8192x1024xbf16>
  %5 = llm.linear %lh, %lu layout(in_out) : (tensor<8192x14336xbf16>, tensor<14336x4096xbf16>) -> tensor<8192x4096xbf16>
  %6 = llm.linear_weight_grad %l, %lh layout(out_in) : (tensor<8192x4096xbf16>, tensor<8192x14336xbf16>) -> tensor<14336x4096xbf16>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<8192x2304xbf16>, tensor<8192x768xbf16>, tensor<8192x768xbf16>,
      tensor<8192x4096xbf16>, tensor<8192x1024xbf16>, tensor<8192x4096xbf16>, tensor<14336x4096xbf16>
}
