// canonicalize has no place after a plan: here it erases an op that nobody reads, and the claims are false.
// RUN: llmmem-opt %s --verify-plan
// RUN: not llmmem-opt %s --canonicalize --verify-plan 2>&1 | FileCheck %s

// CHECK: [peak] claims a peak of 160 bytes, but holds 128
// CHECK: [peak] claims an arena of 288 bytes, but uses 64
func.func @step(%x: tensor<16xf32>) -> tensor<16xf32> attributes {llm.arena = 288 : i64, llm.peak = 160 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<16xf32>
  %1 = llm.cast %x {llm.offsets = array<i64: 256>} : tensor<16xf32> -> tensor<16xbf16>
  return %0 : tensor<16xf32>
}
