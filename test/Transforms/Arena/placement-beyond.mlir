// Places that somebody wrote and that no value can have, beyond 2^63 or negative, are not taken.
// RUN: llmmem-opt --plan-arena --verify-plan --split-input-file %s | FileCheck %s

// CHECK: llm.arena = 256
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: 0>
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.placement = array<i64: 9223372036854775552>} {
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// CHECK: llm.arena = 256
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: 0>
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.placement = array<i64: -256>} {
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// It ends below 2^63, but not together with what is resident.
// CHECK: llm.arena = 256
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: 0>
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.budget = 1000 : i64, llm.placement = array<i64: 9223372036854775296>} {
  %0 = llm.gelu %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
