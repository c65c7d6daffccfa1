// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The arena of the device has 512 bytes, that of the host 256.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[offsets] ends at byte 512, outside the arena of 256 on the host}}
  %up = llm.copy_up %x {llm.offsets = array<i64: 256>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %up {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
