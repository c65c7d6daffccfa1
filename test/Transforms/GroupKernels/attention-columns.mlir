// Attention reads q, k and v where one product wrote them, and writes their gradients where the next one reads them.
//
// RUN: llmmem-opt --group-kernels %s | FileCheck %s

// CHECK-LABEL: func @step
// CHECK-NOT: llm.split
func.func @step(%qkv: tensor<1x4x24xf32>, %dout: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x24xf32>) {
  //      CHECK: %[[OUT:.*]]:2 = llm.kernel(%[[X:.*]] = %arg0) : (tensor<1x4x24xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  // CHECK-NEXT:   %[[PARTS:.*]]:3 = llm.split %[[X]]
  // CHECK-NEXT:   %[[O:.*]], %[[L:.*]] = llm.attention %[[PARTS]]#0, %[[PARTS]]#1, %[[PARTS]]#2
  // CHECK-NEXT:   llm.yield %[[O]], %[[L]]
  // CHECK-NEXT: attributes {llm.block = 2 : i64, llm.core_attention, llm.phase = "forward"}
  %q, %k, %v = llm.split %qkv {llm.block = 2 : i64, llm.phase = "forward"}
    : (tensor<1x4x24xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  %out, %lse = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64,
                                         llm.block = 2 : i64, llm.core_attention, llm.phase = "forward"}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x2x4xf32>)
  //      CHECK: llm.kernel(%[[Y:.*]] = %arg0, %[[A:.*]] = %[[OUT]]#0, %[[B:.*]] = %[[OUT]]#1, %[[C:.*]] = %arg1)
  // CHECK-SAME: -> tensor<1x4x24xf32>
  // CHECK-NEXT:   %[[AGAIN:.*]]:3 = llm.split %[[Y]]
  // CHECK-NEXT:   %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = llm.attention_grad %[[AGAIN]]#0, %[[AGAIN]]#1, %[[AGAIN]]#2, %[[A]], %[[B]], %[[C]]
  // CHECK-NEXT:   %[[D:.*]] = llm.concat %[[DQ]], %[[DK]], %[[DV]]
  // CHECK-NEXT:   llm.yield %[[D]]
  // CHECK-NEXT: attributes {llm.block = 2 : i64, llm.phase = "backward"}
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %out, %lse, %dout {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.5 : f64,
                                                                   llm.block = 2 : i64, llm.phase = "backward"}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x2x4xf32>, tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  %dqkv = llm.concat %dq, %dk, %dv {llm.block = 2 : i64, llm.phase = "backward"}
    : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x24xf32>
  return %out, %dqkv : tensor<1x4x8xf32>, tensor<1x4x24xf32>
}
