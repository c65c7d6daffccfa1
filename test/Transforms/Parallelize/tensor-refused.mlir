// Heads, widths and sequences that ranks of tp do not divide, shardings that nothing makes, and ZeRO without dp are refused with
// the fix.
// RUN: split-file %s %t
// RUN: not llmmem-opt --parallelize=mesh=tp=4 %t/heads.mlir 2>&1 | FileCheck %t/heads.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=3 %t/heads.mlir 2>&1 | FileCheck %t/heads.mlir --check-prefix=WIDTH
// RUN: not llmmem-opt "--parallelize=mesh=tp=2 sequence-parallel=true" %t/sequence.mlir 2>&1 | FileCheck %t/sequence.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/given.mlir 2>&1 | FileCheck %t/given.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/copy.mlir 2>&1 | FileCheck %t/copy.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/divides.mlir 2>&1 | FileCheck %t/divides.mlir
// RUN: not llmmem-opt --parallelize=mesh=tp=2 %t/unknown.mlir 2>&1 | FileCheck %t/unknown.mlir
// RUN: not llmmem-opt "--parallelize=mesh=tp=2 zero=1" %t/unknown.mlir 2>&1 | FileCheck %t/unknown.mlir --check-prefix=ZERO
// RUN: not llmmem-opt "--parallelize=mesh=dp=2 sequence-parallel=true" %t/unknown.mlir 2>&1 | FileCheck %t/unknown.mlir --check-prefix=SEQUENCE

//--- heads.mlir
// CHECK: heads.mlir:7:12: error: 'llm.attention' has 2 key/value heads, which do not divide over tp = 4; take a number of ranks that divides 2
// WIDTH: error: 'wq' has 8 in dimension 1, which does not divide over tp = 3; take a number of ranks that divides it
!x = tensor<1x4x8xf32>
func.func @loss(%x: !x {llm.role = "input"}, %q: tensor<8x8xf32> {llm.role = "param", llm.name = "wq"}, %w: tensor<8x8xf32> {llm.role = "param"})
    -> !x {
  %y = llm.linear %x, %q layout(in_out) : (!x, tensor<8x8xf32>) -> !x
  %a, %l = llm.attention %y, %y, %y {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64} : (!x, !x, !x) -> (!x, tensor<1x2x4xf32>)
  %z = llm.linear %a, %w layout(in_out) : (!x, tensor<8x8xf32>) -> !x
  return %z : !x
}

//--- sequence.mlir
// CHECK: error: 'llm.embedding' has a sequence of 3, which does not divide over tp = 2; import the model with a --seq that is a multiple of 2
func.func @loss(%ids: tensor<2x3xi32> {llm.role = "input"}, %table: tensor<4x8xf32> {llm.role = "param"}) -> tensor<2x3x8xf32> {
  %x = llm.embedding %ids, %table : (tensor<2x3xi32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
  return %x : tensor<2x3x8xf32>
}

//--- given.mlir
// CHECK: error: 'llm.gelu' is split as #llm.sharding<dimensions = {{\[\[\], \[\]\]}}>, and no exchange of its ranks makes the given #llm.sharding<dimensions = {{\[\[\], \["tp"\]\]}}, pieces = {{\[array<i64>, array<i64: 4, 4>\]}}> of that
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input"}) -> tensor<4x8xf32> {
  %y = llm.gelu %x {llm.sharding = #llm.sharding<dimensions = [[], ["tp"]], pieces = [array<i64>, array<i64: 4, 4>]>} : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

//--- copy.mlir
// CHECK: error: 'llm.silu' is whole on each rank of tp as a copy of its own, which has no part of one gradient; give #llm.sharding<dimensions = {{\[\["tp"\], \[\]\]}}> to what the copies are made from
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input", llm.sharding = #llm.sharding<dimensions = [[], ["tp"]]>}) -> tensor<4x8xf32> {
  %y = llm.gelu %x {llm.sharding = #llm.sharding<dimensions = [[], []]>} : tensor<4x8xf32>
  %z = llm.silu %y {llm.sharding = #llm.sharding<dimensions = [["tp"], []]>} : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

//--- divides.mlir
// CHECK: error: 'llm.gelu' has 3 in dimension 0, which does not divide over tp = 2; take a number of ranks that divides it
func.func @loss(%x: tensor<3x8xf32> {llm.role = "input"}) -> tensor<3x8xf32> {
  %y = llm.gelu %x {llm.sharding = #llm.sharding<dimensions = [["tp"], []]>} : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

//--- unknown.mlir
// CHECK: error: 'x' is given the sharding #llm.sharding<dimensions = {{\[\["ep"\]\]}}>, expected axes of #llm.mesh<tp = 2>, each once
// ZERO: error: is to be split by ZeRO stage 1 over dp, which #llm.mesh<tp = 2> does not have; add dp, or take zero=0
// SEQUENCE: error: is to be split along the sequence over tp, which #llm.mesh<dp = 2> does not have; add tp, or leave out sequence-parallel
func.func @loss(%x: tensor<4xf32> {llm.role = "input", llm.name = "x", llm.sharding = #llm.sharding<dimensions = [["ep"]]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
