// What ranks of cp cannot split is refused where it stands, with the fix.
// RUN: split-file %s %t
// RUN: not llmmem-opt --parallelize=mesh=cp=3 %t/sequence.mlir 2>&1 | FileCheck %t/sequence.mlir
// RUN: not llmmem-opt --parallelize=mesh=cp=2 %t/image.mlir 2>&1 | FileCheck %t/image.mlir
// RUN: not llmmem-opt --parallelize=mesh=cp=4 %t/heads.mlir 2>&1 | FileCheck %t/heads.mlir
// RUN: not llmmem-opt "--parallelize=mesh=tp=2,cp=2 sequence-parallel" %t/heads.mlir 2>&1 | FileCheck %t/heads.mlir --check-prefix=ORDER
// RUN: not llmmem-opt --parallelize=mesh=cp=2,tp=2 %t/dropped.mlir 2>&1 | FileCheck %t/dropped.mlir
// RUN: not llmmem-opt "--parallelize=mesh=dp=2,cp=2 zero=1" %t/parts.mlir 2>&1 | FileCheck %t/parts.mlir
// RUN: not llmmem-opt --parallelize=mesh=cp=2 %t/experts.mlir 2>&1 | FileCheck %t/experts.mlir
// RUN: not llmmem-opt --parallelize=mesh=ep=2,cp=2 %t/experts.mlir 2>&1 | FileCheck %t/experts.mlir

//--- sequence.mlir
// CHECK: sequence.mlir:2:17: error: input 'ids' has a sequence of 8, which does not divide over cp = 3; import the model with a --seq that is a multiple of 3
func.func @loss(%ids: tensor<4x8xi32> {llm.role = "input", llm.name = "ids"}) -> tensor<4x8xi32> {
  return %ids : tensor<4x8xi32>
}

//--- image.mlir
// CHECK: image.mlir:2:17: error: input 'pixels' of type 'tensor<4x3x8x8xf32>' is no sequence of tokens, which cp splits; take dp or tp instead of cp
func.func @loss(%x: tensor<4x3x8x8xf32> {llm.role = "input", llm.name = "pixels"}) -> tensor<4x3x8x8xf32> {
  return %x : tensor<4x3x8x8xf32>
}

//--- heads.mlir
// CHECK: heads.mlir:[[#]]:8: error: 'llm.rope' has 2 heads, which do not divide over cp = 4; take a number of ranks that divides 2
// ORDER: error: is to be split along the sequence over cp and then over tp, and #llm.mesh<tp = 2, cp = 2> has them in the other order; write cp before tp, or leave out sequence-parallel
func.func @loss(%ids: tensor<4x8xi32> {llm.role = "input"}, %table: tensor<11x16xf32> {llm.role = "param"}) -> tensor<4x8x16xf32> {
  %x = llm.embedding %ids, %table : (tensor<4x8xi32>, tensor<11x16xf32>) -> tensor<4x8x16xf32>
  %q = llm.rope %x {heads = 2 : i64, theta = 100.0 : f64} : tensor<4x8x16xf32>
  return %q : tensor<4x8x16xf32>
}

//--- dropped.mlir
// Random numbers belong to heads of the whole, and cp has parts of a rank's heads of tp.
// CHECK: error: 'llm.attention' op drops elements of a dimension that is split over tp x cp, which the mesh #llm.mesh<cp = 2, tp = 2> has in another order; write them in this order, or import the model without dropout
func.func @loss(%ids: tensor<4x8xi32> {llm.role = "input"}, %seed: tensor<2xi32> {llm.role = "seed"}, %table: tensor<11x16xf32> {llm.role = "param"},
                %w: tensor<16x16xf32> {llm.role = "param"}, %o: tensor<16x16xf32> {llm.role = "param"}) -> tensor<4x8x16xf32> {
  %x = llm.embedding %ids, %table : (tensor<4x8xi32>, tensor<11x16xf32>) -> tensor<4x8x16xf32>
  %q = llm.linear %x, %w layout(in_out) : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  %out, %lse = llm.attention %q, %q, %q seed(%seed) {heads = 4 : i64, kv_heads = 4 : i64, scale = 0.5 : f64, p = 0.1 : f64, key = 1 : i64}
     : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<2xi32>) -> (tensor<4x8x16xf32>, tensor<4x4x8xf32>)
  %y = llm.linear %out, %o layout(in_out) : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

//--- parts.mlir
// CHECK: parts.mlir:2:17: error: parameter 'w' of type 'tensor<6xf32>' has 6 elements, which do not divide over dp x cp = 4; take a dp x cp that divides them, or zero=0
func.func @loss(%w: tensor<6xf32> {llm.role = "param", llm.name = "w"}) -> tensor<6xf32> {
  return %w : tensor<6xf32>
}

//--- experts.mlir
// CHECK: experts.mlir:[[#@LINE+1]]:1: error: is to be split along the sequence over cp, and its experts count their places along whole sequences; leave out cp: dp and ep split the batch
func.func @loss(%x: tensor<4x4x3x8xf32> {llm.role = "input"}, %w: tensor<4x8x8xf32> {llm.role = "param"}) -> tensor<4x4x3x8xf32> {
  %y = llm.grouped_linear %x, %w layout(out_in) : (tensor<4x4x3x8xf32>, tensor<4x8x8xf32>) -> tensor<4x4x3x8xf32>
  return %y : tensor<4x4x3x8xf32>
}
