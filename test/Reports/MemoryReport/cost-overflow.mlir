// Two ops whose stated FLOPs add up to 2^63: no report says that the step has a negative number of them.
// RUN: llmmem-opt %s --allow-unregistered-dialect --plan-arena --report-memory=print=true --verify-diagnostics

func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "test.op"(%x) {llm.cost = #llm.cost<flops = 4611686018427387904, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{costs, with the ops before it, 2^63 FLOPs or ns or more; make the batch, the sequence or the model smaller}}
  %1 = "test.op"(%0) {llm.cost = #llm.cost<flops = 4611686018427387904, bytes = 256, ns = 1, workspace = 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
