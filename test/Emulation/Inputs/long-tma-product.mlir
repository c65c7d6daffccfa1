// Fourteen steps of 64 terms, more than the eight stages of tiles that tensor maps bring; rows of x end inside of a box.
func.func @step(%x: tensor<72x896xbf16>, %w: tensor<64x896xbf16>) -> tensor<72x64xbf16> attributes {llm.arena = 9216 : i64} {
  %y = llm.linear %x, %w layout(out_in) {llm.offsets = array<i64: 0>} : (tensor<72x896xbf16>, tensor<64x896xbf16>) -> tensor<72x64xbf16>
  return %y : tensor<72x64xbf16>
}
