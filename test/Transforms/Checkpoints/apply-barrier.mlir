// RUN: split-file %s %t
// RUN: llmmem-opt --allow-unregistered-dialect --apply-checkpoints %t/once.mlir | FileCheck %s
// RUN: llmmem-opt --allow-unregistered-dialect --apply-checkpoints --verify-diagnostics %t/early.mlir

// A barrier is an op of the schedule (2 here), and its readers share it. What is recomputed after it is read as it is.
// CHECK: %[[E:.*]] = "test.exponential"(%arg0)
// CHECK: %[[N:.*]] = "test.negate"(%arg0)
// CHECK-NEXT: %[[B:.*]]:2 = "test.barrier"(%[[E]], %[[N]])
// CHECK-NEXT: "test.tanh"(%[[B]]#0)
// CHECK-NEXT: "test.sine"(%[[B]]#1)
// CHECK-NEXT: %[[AGAIN:.*]] = "test.exponential"(%arg0)
// CHECK-NEXT: "test.cosine"(%[[AGAIN]])
// CHECK-NOT: "test.barrier"

//--- once.mlir
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {llm.schedule = array<i64: 0, 1, 2, 3, 4, 0, 5>} {
  %0 = "test.exponential"(%x) {llm.id = 0 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "test.negate"(%x) {llm.id = 1 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %b:2 = "test.barrier"(%0, %1) {llm.id = 2 : i64, llm.pure, llm.views = array<i64: 0, 1>} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %2 = "test.tanh"(%b#0) {llm.id = 3 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "test.sine"(%b#1) {llm.id = 4 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %4 = "test.cosine"(%b#0) {llm.id = 5 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %3, %4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

//--- early.mlir
func.func @step(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.schedule = array<i64: 0, 1, 3, 2>} {
  %0 = "test.exponential"(%x) {llm.id = 0 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "test.negate"(%x) {llm.id = 1 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  %b:2 = "test.barrier"(%0, %1) {llm.id = 2 : i64, llm.pure, llm.views = array<i64: 0, 1>} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  // expected-error @below {{is scheduled before 'test.barrier' is written}}
  %2 = "test.tanh"(%b#0) {llm.id = 3 : i64, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %1 : tensor<64xf32>, tensor<64xf32>
}
