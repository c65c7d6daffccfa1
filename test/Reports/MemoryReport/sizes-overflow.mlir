// A step that somebody planned by hand, with arguments of 2^63 bytes together: the report has no sum of them.
// RUN: llmmem-opt %s --report-memory=print=true --verify-diagnostics

!large = tensor<1152921504606846975xi8>
// expected-error @below {{cannot be planned or run: the bytes of its values, rounded up to 256 each, add up to 2^63 or more}}
func.func @step(%0: !large, %1: !large, %2: !large, %3: !large, %4: !large, %5: !large, %6: !large, %7: !large, %x: tensor<64xf32>) -> tensor<64xf32>
    attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  %y = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %y : tensor<64xf32>
}
