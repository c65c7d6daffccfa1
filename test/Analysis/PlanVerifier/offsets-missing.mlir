// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[offsets] needs 'llm.offsets' with 1 entries; run apply-checkpoints, or plan-arena for a step without a plan}}
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
