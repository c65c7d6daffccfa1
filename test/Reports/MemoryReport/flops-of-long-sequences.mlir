// Three ops of 2^62 FLOPs, as attention over a million tokens has: their sum, 1.4e19, is reported although no integer of 64 bits has it.
// RUN: llmmem-opt %s --allow-unregistered-dialect --plan-arena --report-memory="json=%t.json" -o %t.mlir
// RUN: FileCheck %s < %t.json
// CHECK: "step": {
// CHECK: "flops": 1.3835058055282164e+19,

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "test.op"(%x) {llm.cost = #llm.cost<flops = 4611686018427387904, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "test.op"(%0) {llm.cost = #llm.cost<flops = 4611686018427387904, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "test.op"(%1) {llm.cost = #llm.cost<flops = 4611686018427387904, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
