// A collective names axes of the mesh of its function, each once and in the mesh's order.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{has a group but no mesh; declare the axes on the function, as in attributes {llm.mesh = #llm.mesh<dp = 2>}}}
  %y = llm.all_reduce %x over ["dp"] : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // expected-error @below {{runs over axis "pp", expected one of #llm.mesh<dp = 2, tp = 4>}}
  %y = llm.all_reduce %x over ["pp"] : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // expected-error @below {{names its axes as ["tp", "dp"], expected each once in the order of #llm.mesh<dp = 2, tp = 4>}}
  %y = llm.all_reduce %x over ["tp", "dp"] : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
  // expected-error @below {{names its axes as ["dp", "dp"], expected each once in the order of #llm.mesh<dp = 2, tp = 4>}}
  %y = llm.replica %x over ["dp", "dp"] : tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{names no axis; the mesh is #llm.mesh<dp = 2>}}
  %y = llm.all_reduce %x over [] : tensor<8xf32>
  return
}
