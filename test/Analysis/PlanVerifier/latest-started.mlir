// What was started has run where its wait stands: until then readers read the run before, and after it they do not.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64xf32>) -> tensor<128xf32> attributes {llm.arena = 1536 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1792 : i64} {
  %g = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.id = 0 : i64, llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<128xf32>
  %b = llm.gelu %g {llm.offsets = array<i64: 512>} : tensor<128xf32>
  %g2 = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 1024>, llm.started} : (tensor<64xf32>) -> tensor<128xf32>
  %c = llm.mul %b, %g {llm.offsets = array<i64: 512>} : tensor<128xf32>
  %there = llm.wait %g2 {llm.offsets = array<i64: 1024>} : tensor<128xf32>
  %d = llm.mul %c, %there {llm.offsets = array<i64: 512>} : tensor<128xf32>
  return %d : tensor<128xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<128xf32> attributes {llm.arena = 1536 : i64, llm.mesh = #llm.mesh<dp = 2>, llm.peak = 1792 : i64} {
  %g = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.id = 0 : i64, llm.offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<128xf32>
  %b = llm.gelu %g {llm.offsets = array<i64: 512>} : tensor<128xf32>
  // expected-note @below {{the latest run is this}}
  %g2 = llm.all_gather %x over ["dp"] {dimension = 0 : i64, llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 1024>, llm.started} : (tensor<64xf32>) -> tensor<128xf32>
  %there = llm.wait %g2 {llm.offsets = array<i64: 1024>} : tensor<128xf32>
  // expected-error @below {{[latest] reads an earlier run as operand 1 than the latest before it}}
  %c = llm.mul %b, %g {llm.offsets = array<i64: 512>} : tensor<128xf32>
  %d = llm.mul %c, %there {llm.offsets = array<i64: 512>} : tensor<128xf32>
  return %d : tensor<128xf32>
}
