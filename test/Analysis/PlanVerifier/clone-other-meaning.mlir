// RUN: llmmem-opt --verify-plan --verify-diagnostics %s

// The same op on the same operand, but with another stream of random numbers.
func.func @step(%x: tensor<64xf32>, %s: tensor<2xi32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 776 : i64} {
  %0 = llm.dropout %x, %s {p = 0.1 : f64, key = 1 : i64, llm.id = 0 : i64, llm.offsets = array<i64: 0>} : tensor<64xf32>, tensor<2xi32>
  // expected-error @below {{[clone] is a clone of op 0, but does not do the same}}
  %1 = llm.dropout %x, %s {p = 0.1 : f64, key = 2 : i64, llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>} : tensor<64xf32>, tensor<2xi32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
