// A result may stand in a donated argument only where each operand that reads it may be overwritten.
// RUN: llmmem-opt --verify-plan --verify-diagnostics --split-input-file %s

func.func @step(%x: tensor<64x64xf32> {llm.donated = 0 : i64}, %dy: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {llm.arena = 0 : i64, llm.peak = 32768 : i64} {
  // expected-error @below {{[clobber] overwrites argument 0 while it reads it as operand 0}}
  %g = llm.linear_weight_grad %x, %dy into(%x) layout(in_out) {llm.offsets = array<i64: -1>} : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %g : tensor<64x64xf32>
}

// -----

func.func @step(%x: tensor<64x64xf32> {llm.donated = 0 : i64}, %dy: tensor<4x16x64xf32>) -> tensor<64x64xf32> attributes {llm.arena = 0 : i64, llm.peak = 32768 : i64} {
  %v = llm.reshape %x {llm.offsets = array<i64: -1>} : tensor<64x64xf32> -> tensor<4x16x64xf32>
  // expected-error @below {{[clobber] overwrites argument 0 while it reads it as operand 0}}
  %g = llm.linear_weight_grad %v, %dy into(%x) layout(in_out) {llm.offsets = array<i64: -1>} : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %g : tensor<64x64xf32>
}
