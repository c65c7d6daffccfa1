// RUN: llmmem-opt --plan-checkpoints=policy=none --verify-diagnostics %s

// expected-error @below {{argument 0 is donated to result 0, but no chain of in-place results leads from one to the other}}
func.func @step(%p: tensor<4xf32> {llm.donated = 0 : i64}, %g: tensor<4xf32>) -> tensor<4xf32> {
  %0 = llm.gelu %g : tensor<4xf32>
  return %0 : tensor<4xf32>
}
