// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Device-to-host copies run one after another, so their waits stand in the order of the starts. A host-to-device copy may land between.
func.func @step(%x: tensor<64xf32>, %m: tensor<64xf32, #llm.host>) -> (tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<64xf32>) attributes {llm.arena = 256 : i64, llm.host_arena = 512 : i64, llm.peak = 512 : i64} {
  // expected-note @below {{which starts here}}
  %a = llm.copy_up %x {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %b = llm.copy_up %x {llm.offsets = array<i64: 256>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %d = llm.copy_down %m {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  %z = llm.wait %d {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @below {{[flight] stands before the wait for what started earlier; expected waits in the order of the starts}}
  %later = llm.wait %b {llm.offsets = array<i64: 256>} : tensor<64xf32, #llm.host>
  %sooner = llm.wait %a {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  return %sooner, %later, %z : tensor<64xf32, #llm.host>, tensor<64xf32, #llm.host>, tensor<64xf32>
}
