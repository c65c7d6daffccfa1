// The terms of each tile are shared out between two parts of a cluster, and two blocks of a part share tiles of %d: 17 steps of 64 terms, of which the
// second part has eight, the last of 6 terms. What sums need where other blocks add them, by mma.sync, is not used.
func.func @step(%x: tensor<1030x136xbf16>, %d: tensor<1030x264xbf16>) -> tensor<136x264xbf16> attributes {llm.arena = 359168 : i64} {
  %0 = llm.linear_weight_grad %x, %d layout(in_out) {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 71936, 287232>}
    : (tensor<1030x136xbf16>, tensor<1030x264xbf16>) -> tensor<136x264xbf16>
  return %0 : tensor<136x264xbf16>
}
