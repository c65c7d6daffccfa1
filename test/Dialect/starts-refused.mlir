// What is started has one wait, and nothing reads its result before.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @read_before(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-note @below {{which starts here}}
  %sum = llm.all_reduce %x over ["dp"] {llm.started} : tensor<8xf32>
  // expected-error @below {{'llm.gelu' op reads what 'llm.all_reduce' started; expected the result of its 'llm.wait'}}
  %y = llm.gelu %sum : tensor<8xf32>
  %s = llm.wait %sum : tensor<8xf32>
  return %y, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @no_wait(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{is started and nothing waits for it; expected an 'llm.wait' of its result in the same block}}
  %sum = llm.all_reduce %x over ["dp"] {llm.started} : tensor<8xf32>
  return
}

// -----

func.func @two_waits(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{is started and has a second wait}}
  %sum = llm.all_reduce %x over ["dp"] {llm.started} : tensor<8xf32>
  // expected-note @below {{which stands here}}
  %a = llm.wait %sum : tensor<8xf32>
  %b = llm.wait %sum : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @no_start(%x: tensor<8xf32>) -> tensor<8xf32> attributes {llm.mesh = #llm.mesh<dp = 2>} {
  %sum = llm.all_reduce %x over ["dp"] : tensor<8xf32>
  // expected-error @below {{waits for a value that is not started; expected the result of a collective or a copy with 'llm.started'}}
  %s = llm.wait %sum : tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

func.func @no_collective(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'llm.started' is unit, expected no value, on a collective or a copy to or from the host}}
  %y = llm.gelu %x {llm.started} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @no_start_without_results(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<pp = 2>} {
  llm.exchange(%x) over ["pp"] {from = array<i64>, to = array<i64: 1>, llm.started} : (tensor<8xf32>) -> ()
  llm.wait
  // expected-error @below {{waits for a start without results, but every earlier one has its wait}}
  llm.wait
  return
}
