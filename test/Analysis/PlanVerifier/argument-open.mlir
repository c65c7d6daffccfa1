// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// Both arguments are given back as something that is computed from %m. Were %m in the bytes of %b, %r1 would read %m in place of %b.
func.func @step(%a: tensor<64xf32> {llm.donated = 0 : i64}, %b: tensor<64xf32> {llm.donated = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 0 : i64, llm.peak = 512 : i64} {
  // expected-error @below {{[argument] result 0 may have the bytes of argument 0 or of argument 1, and the plan does not say of which; state it with 'llm.in_argument'}}
  %m = llm.add %a, %b {llm.offsets = array<i64: -1>} : tensor<64xf32>
  %r1 = llm.add %m, %b {llm.offsets = array<i64: -1>} : tensor<64xf32>
  // expected-error @below {{[argument] result 0 has offset -1, but takes over no donated argument's bytes}}
  %r0 = llm.gelu %m {llm.offsets = array<i64: -1>} : tensor<64xf32>
  return %r0, %r1 : tensor<64xf32>, tensor<64xf32>
}
