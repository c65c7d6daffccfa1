// What nobody receives is waited for until the end of the other stage.
// RUN: llmmem-opt %s --check-exchanges --verify-diagnostics

module {
  func.func @stage0(%x: tensor<4xf32>) attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 0 : i64} {
    // expected-error @below {{'llm.exchange' 'send F0' of stage 0 waits for ever for stage 1}}
    llm.exchange(%x) over ["pp"] {from = array<i64>, llm.name = "send F0", to = array<i64: 1>} : (tensor<4xf32>) -> ()
    return
  }
  // expected-note @below {{@stage1 has ended without an op that meets it}}
  func.func @stage1() attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 1 : i64} {
    return
  }
}
