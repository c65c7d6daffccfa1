// Messages match in order, so one that is sent in another order than it is received shows by its type.
// RUN: llmmem-opt %s --check-exchanges --verify-diagnostics

module {
  func.func @stage0(%x: tensor<4xf32>, %y: tensor<2xf32>) attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 0 : i64} {
    // expected-error @below {{'llm.exchange' 'send F0' of stage 0 sends 'tensor<4xf32>' to stage 1, which receives 'tensor<2xf32>'}}
    llm.exchange(%x, %y) over ["pp"] {from = array<i64>, llm.name = "send F0", to = array<i64: 1, 1>} : (tensor<4xf32>, tensor<2xf32>) -> ()
    return
  }
  func.func @stage1() attributes {llm.mesh = #llm.mesh<pp = 2>, llm.stage = 1 : i64} {
    // expected-note @below {{here, by 'llm.exchange' 'receive F0'}}
    %y, %x = llm.exchange() over ["pp"] {from = array<i64: 0, 0>, llm.name = "receive F0", to = array<i64>} : () -> (tensor<2xf32>, tensor<4xf32>)
    return
  }
}
