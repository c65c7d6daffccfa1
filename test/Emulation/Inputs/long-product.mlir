// Five steps of 32 terms, more than are in flight.
func.func @step(%x: tensor<40x160xbf16>, %w: tensor<24x160xbf16>) -> tensor<40x24xbf16> attributes {llm.arena = 2048 : i64} {
  %y = llm.linear %x, %w layout(out_in) {llm.offsets = array<i64: 0>} : (tensor<40x160xbf16>, tensor<24x160xbf16>) -> tensor<40x24xbf16>
  return %y : tensor<40x24xbf16>
}
