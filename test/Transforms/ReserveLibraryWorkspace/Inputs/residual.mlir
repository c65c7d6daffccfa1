func.func @step(%a: tensor<64x16xbf16>, %v: tensor<16x32xbf16>, %x: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %h = llm.silu %x : tensor<64x32xbf16>
  %p = llm.linear %a, %v layout(in_out) : (tensor<64x16xbf16>, tensor<16x32xbf16>) -> tensor<64x32xbf16>
  %g = llm.add %h, %p : tensor<64x32xbf16>
  return %g : tensor<64x32xbf16>
}
