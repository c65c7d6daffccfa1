// What only sends is in flight until its wait, too: its bytes are not overwritten before, and somebody waits.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @stage0(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.mesh = #llm.mesh<pp = 2>, llm.peak = 512 : i64, llm.stage = 0 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-note @+1 {{which starts here}}
  llm.exchange(%a) over ["pp"] {from = array<i64>, to = array<i64: 1>, llm.offsets = array<i64>, llm.started} : (tensor<64xf32>) -> ()
  // expected-error @+1 {{[flight] overwrites bytes that 'llm.exchange' has in flight; expected its 'llm.wait' before this op}}
  %b = llm.silu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  llm.wait {llm.offsets = array<i64>}
  return %b : tensor<64xf32>
}

// -----

func.func @stage0(%x: tensor<64xf32>) attributes {llm.arena = 256 : i64, llm.mesh = #llm.mesh<pp = 2>, llm.peak = 512 : i64, llm.stage = 0 : i64} {
  %a = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  // expected-error @+1 {{[flight] is still in flight where the step ends}}
  llm.exchange(%a) over ["pp"] {from = array<i64>, to = array<i64: 1>, llm.offsets = array<i64>, llm.started} : (tensor<64xf32>) -> ()
  return
}
