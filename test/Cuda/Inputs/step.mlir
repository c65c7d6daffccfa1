// A step planned by hand whose kernels go by elements and by rows. Its loss is a constant.
func.func @step(%ids: tensor<2x8xi32> {llm.role = "input", llm.name = "ids"},
                %lr: tensor<f32> {llm.role = "input", llm.name = "learning_rate"},
                %table: tensor<61x64xbf16> {llm.role = "param", llm.name = "wte.weight", llm.donated = 1 : i64},
                %gradient: tensor<61x64xbf16> {llm.role = "gradient", llm.name = "wte.weight"})
    -> (tensor<f32>, tensor<61x64xbf16>) attributes {llm.arena = 4100 : i64, llm.peak = 19780 : i64} {
  %x = llm.embedding %ids, %table {llm.offsets = array<i64: 0>}
    : (tensor<2x8xi32>, tensor<61x64xbf16>) -> tensor<2x8x64xbf16>
  %y = llm.gelu %x {llm.offsets = array<i64: 2048>} : tensor<2x8x64xbf16>
  %z = llm.gelu %y {llm.offsets = array<i64: 0>} : tensor<2x8x64xbf16>
  %loss = llm.fill {value = 0.5 : f64, llm.offsets = array<i64: 4096>} : tensor<f32>
  %new = llm.sgd %table, %gradient, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<61x64xbf16>, tensor<61x64xbf16>, tensor<f32>) -> tensor<61x64xbf16>
  return %loss, %new : tensor<f32>, tensor<61x64xbf16>
}
