// An op that may take over two donated arguments of one size takes over the one that is given back as its result: at once, or
// after another op has taken the bytes over.
// RUN: llmmem-opt --plan-arena --verify-plan --split-input-file %s | FileCheck %s

// CHECK: llm.add {{.*}}llm.offsets = array<i64: -1>
// CHECK: llm.gelu {{.*}}llm.offsets = array<i64: -1>
func.func @step(%a: tensor<64xf32> {llm.donated = 1 : i64}, %b: tensor<64xf32> {llm.donated = 0 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = llm.add %a, %b : tensor<64xf32>
  %t = llm.gelu %a : tensor<64xf32>
  return %s, %t : tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK: llm.add {{.*}}llm.offsets = array<i64: -1>
// CHECK: llm.silu {{.*}}llm.offsets = array<i64: -1>
func.func @step(%a: tensor<64xf32> {llm.donated = 1 : i64}, %b: tensor<64xf32> {llm.donated = 0 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = llm.add %a, %b : tensor<64xf32>
  %u = llm.silu %s : tensor<64xf32>
  %t = llm.gelu %a : tensor<64xf32>
  return %u, %t : tensor<64xf32>, tensor<64xf32>
}
