// A sum over ranks next to what is split: each rank reads its own copy, whose gradients are summed over the ranks.
// RUN: llmmem-opt --parallelize=mesh=dp=2 %s | FileCheck %s

// CHECK: %[[PART:.*]] = llm.linear %arg0, %arg1
// CHECK: %[[SUM:.*]] = llm.all_reduce %[[PART]] over ["dp"]
// CHECK: %[[COPY:.*]] = llm.replica %[[SUM]] over ["dp"]
// CHECK: llm.rms_norm %arg1, %[[COPY]]
func.func @loss(%x: tensor<4xf32> {llm.role = "input"}, %v: tensor<4x8xf32> {llm.role = "input"}) -> tensor<4x8xf32> {
  %sum = llm.linear %x, %v layout(in_out) : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  %y, %rstd = llm.rms_norm %v, %sum {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return %y : tensor<4x8xf32>
}
