// Column and row products: outputs of the first are split, the second sums over them. Its bias is added once, after the sum. A
// product whose result needs to be whole stays whole.
// RUN: llmmem-opt --parallelize=mesh=tp=2 %s | FileCheck %s

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {llm.name = "x"
// CHECK-SAME: %[[UP:[a-z0-9]+]]: tensor<8x6xf32> {{{.*}}llm.sharding = #llm.sharding<dimensions = {{\[\[\], \["tp"\]\]}}>, llm.whole = tensor<8x12xf32>}
// CHECK-SAME: %[[UPBIAS:[a-z0-9]+]]: tensor<6xf32> {{{.*}}llm.whole = tensor<12xf32>}
// CHECK-SAME: %[[DOWN:[a-z0-9]+]]: tensor<6x8xf32> {{{.*}}llm.sharding = #llm.sharding<dimensions = {{\[\["tp"\], \[\]\]}}>, llm.whole = tensor<12x8xf32>}
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<8xf32> {llm.name = "down.bias", llm.role = "param"}
// CHECK-SAME: %[[SQUARE:[a-z0-9]+]]: tensor<8x8xf32> {llm.name = "square", llm.role = "param"}
func.func @loss(%x: tensor<4x8xf32> {llm.role = "input", llm.name = "x"}, %w: tensor<8x8xf32> {llm.role = "param", llm.name = "w"},
                %up: tensor<8x12xf32> {llm.role = "param", llm.name = "up"}, %upbias: tensor<12xf32> {llm.role = "param", llm.name = "up.bias"},
                %down: tensor<12x8xf32> {llm.role = "param", llm.name = "down"}, %bias: tensor<8xf32> {llm.role = "param", llm.name = "down.bias"},
                %square: tensor<8x8xf32> {llm.role = "param", llm.name = "square"}, %g: tensor<8xf32> {llm.role = "param", llm.name = "g"})
    -> tensor<4x8xf32> {
  %n, %rstd = llm.rms_norm %x, %g {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  // CHECK: %[[N:.*]], %{{.*}} = llm.rms_norm
  // CHECK: %[[COPY:.*]] = llm.replica %[[N]] over ["tp"]
  // CHECK: %[[Y:.*]] = llm.linear %[[COPY]], %[[UP]] bias(%[[UPBIAS]]) {{.*}} -> tensor<4x6xf32>
  // CHECK: %[[ACT:.*]] = llm.gelu %[[Y]] : tensor<4x6xf32>
  // CHECK: %[[PART:.*]] = llm.linear %[[ACT]], %[[DOWN]] layout(in_out) {{.*}} -> tensor<4x8xf32>
  // CHECK: %[[SUM:.*]] = llm.all_reduce %[[PART]] over ["tp"]
  // CHECK: %[[Z:.*]] = llm.add_bias %[[SUM]], %[[BIAS]]
  %y = llm.linear %n, %up bias(%upbias) layout(in_out) : (tensor<4x8xf32>, tensor<8x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
  %act = llm.gelu %y : tensor<4x12xf32>
  %z = llm.linear %act, %down bias(%bias) layout(in_out) : (tensor<4x12xf32>, tensor<12x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: llm.linear %[[Z]], %[[SQUARE]] {{.*}} -> tensor<4x8xf32>
  %s = llm.linear %z, %square layout(in_out) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r, %rstd2 = llm.rms_norm %s, %g {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return %r : tensor<4x8xf32>
}
