// A product and three layers of tanh, each of which the backward reads again. Each value has 16,384 bytes, and the three arguments
// have 49,152.
func.func @step(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %g: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %h = "mine.dot"(%x, %w) {llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a0 = "mine.tanh"(%h) {llm.phase = "forward"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a1 = "mine.tanh"(%a0) {llm.phase = "forward"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a2 = "mine.tanh"(%a1) {llm.phase = "forward"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d2 = "mine.mul"(%g, %a2) {llm.phase = "backward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d1 = "mine.mul"(%d2, %a1) {llm.phase = "backward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d0 = "mine.mul"(%d1, %a0) {llm.phase = "backward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d0 : tensor<64x64xf32>
}
