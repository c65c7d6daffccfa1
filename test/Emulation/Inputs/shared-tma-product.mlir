// Two blocks share their tiles of w, 64 of 136 rows; fourteen steps of 64 terms, more than the eight stages.
func.func @step(%x: tensor<200x896xbf16>, %w: tensor<136x896xbf16>) -> tensor<200x136xbf16> attributes {llm.arena = 54400 : i64} {
  %y = llm.linear %x, %w layout(out_in) {llm.offsets = array<i64: 0>} : (tensor<200x896xbf16>, tensor<136x896xbf16>) -> tensor<200x136xbf16>
  return %y : tensor<200x136xbf16>
}
