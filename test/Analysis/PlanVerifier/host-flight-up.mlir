// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// %b is written where %a stands before %a has left.
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.host_arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-note @below {{which stands at byte 0 and is read later}}
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @below {{which starts here}}
  %up = llm.copy_up %a {llm.offsets = array<i64: 0>, llm.started} : (tensor<64xf32>) -> tensor<64xf32, #llm.host>
  // expected-error @below {{[flight] overwrites bytes that 'llm.copy_up' has in flight; expected its 'llm.wait' before this op}}
  // expected-error @below {{[overlap] result 0 at bytes 0 to 256 meets a value that is still held}}
  %b = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  %left = llm.wait %up {llm.offsets = array<i64: 0>} : tensor<64xf32, #llm.host>
  %y = llm.copy_down %left {llm.offsets = array<i64: 256>} : (tensor<64xf32, #llm.host>) -> tensor<64xf32>
  return %b, %y : tensor<64xf32>, tensor<64xf32>
}
