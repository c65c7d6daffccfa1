// The dimensions alone, 2^32 x 2^32, have a product of 2^64.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<f32>) -> tensor<f32> attributes {llm.arena = 4 : i64, llm.peak = 8 : i64} {
  %0 = llm.scale %x {factor = 2.0 : f64, llm.offsets = array<i64: 0>} : tensor<f32>
  // expected-error @below {{[size] has a value of type 'tensor<4294967296x4294967296xf32>' with more than 2^63 bits}}
  %1 = llm.fill {value = 1.0 : f64, llm.offsets = array<i64: 0>} : tensor<4294967296x4294967296xf32>
  return %0 : tensor<f32>
}
