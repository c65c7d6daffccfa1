// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// An op of another dialect has no verifier that knows of the host.
func.func @step(%x: tensor<64xf32, #llm.host>) -> tensor<64xf32, #llm.host> attributes {llm.arena = 0 : i64, llm.host_arena = 256 : i64, llm.peak = 0 : i64} {
  // expected-error @below {{[host] touches 'tensor<64xf32, #llm.host>' in the host's memory; expected an 'llm.copy_down' to the device}}
  %y = arith.negf %x {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  return %y : tensor<64xf32, #llm.host>
}
