// Seven steps of 64 terms, more than are in flight, for wgmma: more than 64 rows, and 64 columns.
func.func @step(%x: tensor<72x448xbf16>, %w: tensor<64x448xbf16>) -> tensor<72x64xbf16> attributes {llm.arena = 9216 : i64} {
  %y = llm.linear %x, %w layout(out_in) {llm.offsets = array<i64: 0>} : (tensor<72x448xbf16>, tensor<64x448xbf16>) -> tensor<72x64xbf16>
  return %y : tensor<72x64xbf16>
}
