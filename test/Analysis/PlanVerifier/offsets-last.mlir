// An offset just below 2^63 is refused, as the value would end beyond 2^63: offset plus bytes is negative.
// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

func.func @step(%x: tensor<128xf32>) -> tensor<128xf32> attributes {llm.arena = 9223372036854775807 : i64, llm.peak = 1024 : i64} {
  // expected-error @below {{[offsets] ends at byte 9223372036854776064, outside the arena of 9223372036854775807}}
  %0 = llm.gelu %x {llm.offsets = array<i64: 9223372036854775552>} : tensor<128xf32>
  return %0 : tensor<128xf32>
}
