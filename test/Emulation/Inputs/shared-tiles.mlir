func.func @step(%x: tensor<ROWSxTERMSxbf16>, %w: tensor<TERMSxCOLUMNSxbf16>) -> tensor<ROWSxCOLUMNSxbf16> attributes {llm.arena = ARENA : i64} {
  %y = llm.linear %x, %w layout(in_out) {llm.offsets = array<i64: 0>} : (tensor<ROWSxTERMSxbf16>, tensor<TERMSxCOLUMNSxbf16>) -> tensor<ROWSxCOLUMNSxbf16>
  return %y : tensor<ROWSxCOLUMNSxbf16>
}
