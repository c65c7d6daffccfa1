// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[peak] claims an arena of 512 bytes on the host, but uses 256}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 512 : i64} {
  %up = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %up {llm.offsets = array<i64: 0>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
