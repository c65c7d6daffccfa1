// 66 heads in two groups of 33 attend to at most 320 rows of either sequence.
func.func @step(%q: tensor<2x1x3168xbf16>, %row: tensor<2x1x48xbf16>, %rows: tensor<2x320x48xbf16>, %positions: tensor<2x1xi32>) -> tensor<2x1x2112xbf16> {
  %y = llm.latent_attention %q, %row cache(%rows) at(%positions) {heads = 66 : i64, rank = 32 : i64, scale = 0.01 : f64}
    : (tensor<2x1x3168xbf16>, tensor<2x1x48xbf16>, tensor<2x320x48xbf16>, tensor<2x1xi32>) -> tensor<2x1x2112xbf16>
  return %y : tensor<2x1x2112xbf16>
}
