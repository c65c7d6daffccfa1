// Nine arguments of 2^60 - 1 bytes each are no more than 2^63 bits, but together more than 2^63 bytes.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

!large = tensor<1152921504606846975xi8>
// expected-error @below {{[size] has values and workspaces of more than 2^63 bytes together, rounded up to 256 each}}
func.func @step(%0: !large, %1: !large, %2: !large, %3: !large, %4: !large, %5: !large, %6: !large, %7: !large, %x: tensor<f32>) -> tensor<f32>
    attributes {llm.arena = 4 : i64, llm.peak = -9223372036854775808 : i64} {
  %y = llm.scale %x {factor = 2.0 : f64, llm.offsets = array<i64: 0>} : tensor<f32>
  return %y : tensor<f32>
}
