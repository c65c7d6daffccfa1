// RUN: llmmem-opt --annotate-memory --verify-diagnostics %s

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'tosa.custom' has no cost, so no plan can be priced; write 'llm.cost' on it, describe it in an op table (--op-table=FILE), price it by the bytes that it reads and writes (--unpriced=by-bytes), or implement CostOpInterface}}
  %0 = tosa.custom %x {domain_name = "mine", implementation_attrs = "", operator_name = "same"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
