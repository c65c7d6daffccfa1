// A bucket has a result for each value, of the shape that the collective of one value gives, and one type of elements.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has 2 values and 1 results, expected as many of both, and at least one}}
  %0 = llm.all_reduce_bucket %x, %y over ["dp"] : (tensor<4x6xf32>, tensor<4xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f() attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has 0 values and 0 results, expected as many of both, and at least one}}
  "llm.all_reduce_bucket"() {axes = ["dp"]} : () -> ()
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4xbf16>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{mixes values of 'tensor<4x6xf32>' and 'tensor<4xbf16>', expected one type of elements}}
  %0:2 = llm.all_reduce_bucket %x, %y over ["dp"] : (tensor<4x6xf32>, tensor<4xbf16>) -> (tensor<4x6xf32>, tensor<4xbf16>)
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{sums 'tensor<4x6xf32>' to 'tensor<6x4xf32>', expected one type}}
  %0 = llm.all_reduce_bucket %x over ["dp"] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<3xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{splits dimension 0 of 'x', 3, over 2 ranks, which do not divide it}}
  %0:2 = llm.reduce_scatter_bucket %x, %y over ["dp"] : (tensor<4x6xf32>, tensor<3xf32>) -> (tensor<2x6xf32>, tensor<1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{'part' has shape [4, 6], expected [2, 6]}}
  %0 = llm.all_gather_bucket %x over ["dp"] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<2xf32>, %d: tensor<8x6xf32>) attributes {llm.mesh = #llm.mesh<dp = 2>} {
  // expected-error @below {{has destinations of other types than its results, expected one for each result, of its type, or none}}
  %0:2 = llm.all_gather_bucket %x, %y over ["dp"] destinations(%d) : (tensor<4x6xf32>, tensor<2xf32>, tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<4xf32>)
  return
}
