// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %c goes to the bytes of the host that %v is still coming back from: the two directions overlap.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %v = llm.copy_up %x {llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-note @below {{which starts here}}
  %back = llm.copy_down %v {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  // expected-error @below {{[flight] overwrites bytes that 'llm.copy_down' has in flight; expected its 'llm.wait' before this op}}
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %c = llm.copy_up %x {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  %y = llm.wait %back {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %there = llm.wait %c {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  %z = llm.copy_down %there {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}
