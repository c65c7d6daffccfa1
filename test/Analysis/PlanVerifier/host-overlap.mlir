// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %u is written to the host where %v still stands. Byte 0 of the device is another one.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 768 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{which stands at byte 0 and is read later}}
  %v = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %u = llm.copy_up %a {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.copy_down %v {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %z = llm.copy_down %u {llm.offsets = array<i64: 512>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}
