// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[applied] has 'llm.places', which was not applied; run apply-checkpoints}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 0>]} {
  %0 = llm.gelu %x {llm.cost = #llm.cost<flops = 512, bytes = 512, ns = 2001, workspace = 0>, llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
