// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// A step planned without annotate-memory says nothing of time, which refutes nothing.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64, llm.certificate = {cost_lower_bound_ns = 4003 : i64, peak_lower_bound = 768 : i64}} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %1 = llm.silu %0 {llm.offsets = array<i64: 256>} : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
