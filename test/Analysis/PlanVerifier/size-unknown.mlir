// What has no number of bytes would be held by none.
// RUN: llmmem-opt --allow-unregistered-dialect --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[size] has a value of type 'tensor<?xf32>', whose bytes are not known; expected a tensor of numbers of static shape}}
  %0 = "test.op"(%x) {llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> tensor<?xf32>
  %1 = "test.op"(%0) {llm.offsets = array<i64: 0>, llm.pure} : (tensor<?xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[size] has a value of type 'vector<64xf32>', whose bytes are not known}}
  %0 = "test.op"(%x) {llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> vector<64xf32>
  %1 = "test.op"(%0) {llm.offsets = array<i64: 0>, llm.pure} : (vector<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
