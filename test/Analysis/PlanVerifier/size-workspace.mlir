// RUN: llmmem-opt --allow-unregistered-dialect --verify-plan --verify-diagnostics --split-input-file %s

// A workspace of 2^63 - 1 bytes is a number of bytes, but not together with a value.
// expected-error @below {{[size] has values and workspaces of more than 2^63 bytes together, rounded up to 256 each}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 9223372036854775807 : i64, llm.peak = 0 : i64} {
  %0 = "test.op"(%x) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 0, workspace = 9223372036854775807>, llm.offsets = array<i64: 0>, llm.pure, llm.workspace = array<i64: 256, 9223372036854775807>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// What an op cannot count it calls negative, and the same number in the plan would agree.
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[size] needs a workspace of 2^63 bytes or more, or of a negative number of them}}
  %0 = "test.op"(%x) {llm.cost = #llm.cost<flops = 0, bytes = 0, ns = 0, workspace = -256>, llm.offsets = array<i64: 0>, llm.pure, llm.workspace = array<i64: 0, -256>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
