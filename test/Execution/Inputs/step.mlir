// A model of one table, planned by hand: y = table[ids], the loss is that of y as logits.
func.func @step(%ids: tensor<2x8xi32> {llm.role = "input", llm.name = "ids"},
                %targets: tensor<2x8xi32> {llm.role = "input", llm.name = "targets"},
                %lr: tensor<f32> {llm.role = "input", llm.name = "learning_rate"},
                %table: tensor<61x61xf32> {llm.role = "param", llm.name = "wte.weight", llm.donated = 1 : i64},
                %gradient: tensor<61x61xf32> {llm.role = "gradient", llm.name = "wte.weight", llm.donated = 2 : i64})
    -> (tensor<f32>, tensor<61x61xf32>, tensor<61x61xf32>) attributes {llm.arena = 4612 : i64, llm.peak = 33876 : i64} {
  %y = llm.embedding %ids, %table {llm.offsets = array<i64: 0>}
    : (tensor<2x8xi32>, tensor<61x61xf32>) -> tensor<2x8x61xf32>
  %loss, %lse = llm.cross_entropy %y, %targets {llm.offsets = array<i64: 4096, 4352>}
    : (tensor<2x8x61xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  %one = llm.fill {value = 1.0 : f64, llm.offsets = array<i64: 4608>} : tensor<f32>
  %dy = llm.cross_entropy_grad %y, %lse, %targets, %one {llm.offsets = array<i64: 0>}
    : (tensor<2x8x61xf32>, tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>) -> tensor<2x8x61xf32>
  %dtable = llm.embedding_grad %ids, %dy into(%gradient) {llm.offsets = array<i64: -1>}
    : (tensor<2x8xi32>, tensor<2x8x61xf32>, tensor<61x61xf32>) -> tensor<61x61xf32>
  %new = llm.sgd %table, %dtable, %lr {weight_decay = 0.0 : f64, llm.offsets = array<i64: -1>}
    : (tensor<61x61xf32>, tensor<61x61xf32>, tensor<f32>) -> tensor<61x61xf32>
  return %loss, %new, %dtable : tensor<f32>, tensor<61x61xf32>, tensor<61x61xf32>
}
