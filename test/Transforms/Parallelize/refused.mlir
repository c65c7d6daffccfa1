// What the ranks do not divide, and what no rule covers, is refused where it stands, with the fix.
// RUN: split-file %s %t
// RUN: not llmmem-opt --parallelize=mesh=dp=4 %t/batch.mlir 2>&1 | FileCheck %t/batch.mlir
// RUN: not llmmem-opt "--parallelize=mesh=dp=2 zero=1" %t/parameter.mlir 2>&1 | FileCheck %t/parameter.mlir
// RUN: not llmmem-opt "--parallelize=mesh=dp=2 zero=4" %t/parameter.mlir 2>&1 | FileCheck %t/parameter.mlir --check-prefix=STAGE
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/whole.mlir 2>&1 | FileCheck %t/whole.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/beside.mlir 2>&1 | FileCheck %t/beside.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/decayed.mlir 2>&1 | FileCheck %t/decayed.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/parameters.mlir 2>&1 | FileCheck %t/parameters.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/foreign.mlir 2>&1 | FileCheck %t/foreign.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 %t/step.mlir 2>&1 | FileCheck %t/step.mlir
// RUN: not llmmem-opt --parallelize=mesh=dp=2 --parallelize=mesh=dp=2 %t/batch.mlir 2>&1 | FileCheck %t/batch.mlir --check-prefix=TWICE
// RUN: not llmmem-opt --parallelize=mesh=xp=2 %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=AXIS
// RUN: not llmmem-opt --parallelize=mesh=dp=0 %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=ZERO
// RUN: not llmmem-opt --parallelize=mesh=dp=2,dp=2 %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=DOUBLE
// RUN: not llmmem-opt "--parallelize=mesh=tp=2 sequence-parallel" %t/external.mlir 2>&1 | FileCheck %t/external.mlir
// RUN: not llmmem-opt --parallelize %t/step.mlir 2>&1 | FileCheck %t/step.mlir --check-prefix=NONE

//--- batch.mlir
// TWICE: batch.mlir:3:1: error: is the function of one rank of #llm.mesh<dp = 2> already
// CHECK: batch.mlir:3:17: error: input 'x' has a batch of 6, which does not divide over dp = 4; import the model with a --batch that is a multiple of 4
func.func @loss(%x: tensor<6x4xf32> {llm.role = "input", llm.name = "x"}) -> tensor<6x4xf32> {
  return %x : tensor<6x4xf32>
}

//--- parameter.mlir
// CHECK: parameter.mlir:3:17: error: parameter 'w' of type 'tensor<3xf32>' has 3 elements, which do not divide over dp = 2; take a dp that divides them, or zero=0
// STAGE: parameter.mlir:3:1: error: is to be split by ZeRO stage 4, expected 0 to 3
func.func @loss(%w: tensor<3xf32> {llm.role = "param", llm.name = "w"}) -> tensor<3xf32> {
  return %w : tensor<3xf32>
}

//--- whole.mlir
// CHECK: whole.mlir:3:15: error: 'llm.rms_norm' needs dimension 0 of operand 0 whole, and it is split over "dp"
func.func @loss(%x: tensor<4xf32> {llm.role = "input"}, %g: tensor<4xf32> {llm.role = "param"}) -> tensor<4xf32> {
  %y, %rstd = llm.rms_norm %x, %g {eps = 1.0e-5 : f64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  return %y : tensor<4xf32>
}

//--- beside.mlir
// CHECK: beside.mlir:3:8: error: 'llm.add' reads dimension 0 of operand 1 together with one that is split differently; split both alike, or neither of them over "dp"
func.func @loss(%x: tensor<4xf32> {llm.role = "input"}, %w: tensor<4xf32> {llm.role = "param"}) -> tensor<4xf32> {
  %y = llm.add %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- decayed.mlir
// CHECK: decayed.mlir:4:12: error: 'llm.add' reads a sum over the ranks together with a parameter, whose gradient would be counted once a rank; let it read what is split
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input"}, %t: tensor<4xi32> {llm.role = "input"}, %w: tensor<f32> {llm.role = "param"}) -> tensor<f32> {
  %loss, %lse = llm.cross_entropy %x, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %total = llm.add %loss, %w : tensor<f32>
  return %total : tensor<f32>
}

//--- parameters.mlir
// CHECK: parameters.mlir:3:8: error: the loss is computed from parameters alone, and its gradient would be counted once a rank; return one that depends on the batch
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input"}, %w: tensor<f32> {llm.role = "param"}) -> tensor<f32> {
  %y = llm.mul %w, %w : tensor<f32>
  return %y : tensor<f32>
}

//--- foreign.mlir
// CHECK: foreign.mlir:3:8: error: 'math.exp' reads what is split over the ranks and has no rule for that; implement ShardingOpInterface, or attach it as an external model
func.func @loss(%x: tensor<4xf32> {llm.role = "input"}) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- step.mlir
// CHECK: error: has no function to split over ranks, expected @loss of a model to train, or @decode, @prefill or @forward of one to run; a step that is differentiated already cannot be: start from what llmmem-import writes
// AXIS: error: mesh: 'xp' is an axis that nothing is split over; expected dp, tp, pp, ep or cp
// ZERO: error: mesh: 'dp=0' is no axis of a mesh; expected a name and a number of ranks, as in dp=4
// DOUBLE: error: mesh: names axis 'dp' twice
// NONE: error: mesh: '' is no axis of a mesh; expected a name and a number of ranks, as in dp=4
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

//--- external.mlir
// CHECK: external.mlir:2:1: error: is not straight-line; ranks share a program of one block
func.func private @loss(%x: tensor<4x8xi32> {llm.role = "input"}) -> tensor<f32>
