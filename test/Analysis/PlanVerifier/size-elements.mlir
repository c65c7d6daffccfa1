// 2^62 elements of f32 are 2^64 bytes, which in 64 bits are none: three such values would share offset 0 of an arena of 0 bytes.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// expected-error @below {{[size] has a value of type 'tensor<4611686018427387904xf32>' with more than 2^63 bits}}
func.func @step(%x: tensor<4611686018427387904xf32>) -> tensor<4611686018427387904xf32> attributes {llm.arena = 0 : i64, llm.peak = 0 : i64} {
  // expected-error @below {{[size]}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<4611686018427387904xf32>
  // expected-error @below {{[size]}}
  %1 = llm.silu %0 {llm.offsets = array<i64: 0>} : tensor<4611686018427387904xf32>
  // expected-error @below {{[size]}}
  %2 = llm.mul %0, %1 {llm.offsets = array<i64: 0>} : tensor<4611686018427387904xf32>
  return %2 : tensor<4611686018427387904xf32>
}
