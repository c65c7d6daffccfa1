// An exchange names a position of its group for each value.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4xf32>) attributes {llm.mesh = #llm.mesh<pp = 2>} {
  %0 = llm.exchange(%x) over ["pp"] {from = array<i64: 1>, to = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{names 0 positions in 'to' for 1 values}}
  llm.exchange(%x) over ["pp"] {from = array<i64>, to = array<i64>} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f() attributes {llm.mesh = #llm.mesh<pp = 2>} {
  // expected-error @below {{names position 2 in 'from', expected one of the 2 of its group}}
  %0 = llm.exchange() over ["pp"] {from = array<i64: 2>, to = array<i64>} : () -> tensor<4xf32>
  return
}
