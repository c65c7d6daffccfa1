// Rows so long that a block of threads shares each; then elements, with a rest.
func.func @step(%x: tensor<3x4096xf32>, %w: tensor<4096xf32>) -> (tensor<3x4096xf32>, tensor<3x4096xf32>, tensor<3xf32>)
    attributes {llm.arena = 98816 : i64} {
  %y, %r = llm.rms_norm %x, %w {eps = 1.0e-5 : f64, llm.offsets = array<i64: 0, 49152>}
    : (tensor<3x4096xf32>, tensor<4096xf32>) -> (tensor<3x4096xf32>, tensor<3xf32>)
  %z = llm.silu %y {llm.offsets = array<i64: 49408>} : tensor<3x4096xf32>
  return %y, %z, %r : tensor<3x4096xf32>, tensor<3x4096xf32>, tensor<3xf32>
}
