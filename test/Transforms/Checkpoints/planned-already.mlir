// RUN: llmmem-opt --plan-checkpoints=policy=none --verify-diagnostics %s

// expected-error @below {{is planned already, and its clones would pass for the model's own ops; plan the model that it was made from}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
