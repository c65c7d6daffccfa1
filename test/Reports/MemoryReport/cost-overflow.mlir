// Two ops that take 2^63 ns together, as a changed plan may say: no report says that the step takes a negative number of them.
// RUN: llmmem-opt %s --allow-unregistered-dialect --plan-arena | sed "s/ns = 1,/ns = 4611686018427387904,/" > %t.mlir
// RUN: not llmmem-opt %t.mlir --allow-unregistered-dialect --report-memory=print=true 2>&1 | FileCheck %s
// CHECK: error: takes, with the ops before it, 2^63 ns or more; make the batch, the sequence or the model smaller

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "test.op"(%x) {llm.cost = #llm.cost<flops = 1, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "test.op"(%0) {llm.cost = #llm.cost<flops = 1, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
