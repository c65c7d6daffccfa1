// A producer goes into the kernel of its only reader: before a row op, after one, and element by element.
//
// RUN: llmmem-opt --group-kernels %s | FileCheck %s

// CHECK-LABEL: func @step
func.func @step(%scores: tensor<1x2x4x4xf32>, %x: tensor<1x4x8xf32>, %rstd: tensor<1x4xf32>, %w: tensor<8xf32>,
                %dy: tensor<1x4x8xf32>, %so_far: tensor<1x4x8xf32>, %seed: tensor<2xi32>)
    -> (tensor<1x2x4x4xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  //      CHECK: llm.kernel(%[[IN:.*]] = %arg0)
  // CHECK-NEXT:   %[[MASKED:.*]] = llm.causal_mask %[[IN]]
  // CHECK-NEXT:   %[[P:.*]] = llm.softmax %[[MASKED]]
  // CHECK-NEXT:   llm.yield %[[P]]
  // CHECK-NEXT: attributes {llm.block = 3 : i64, llm.name = "probabilities", llm.phase = "forward"}
  %masked = llm.causal_mask %scores {fill = 0xFFF0000000000000 : f64, llm.block = 3 : i64, llm.phase = "forward"} : tensor<1x2x4x4xf32>
  %p = llm.softmax %masked {llm.block = 3 : i64, llm.phase = "forward", llm.name = "probabilities"} : tensor<1x2x4x4xf32>
  //      CHECK: llm.kernel(%[[X:.*]] = %arg1, %[[RSTD:.*]] = %arg2, %[[W:.*]] = %arg3, %[[DY:.*]] = %arg4, %[[SUM:.*]] = %arg5)
  // CHECK-NEXT:   %[[DX:.*]] = llm.rms_norm_grad %[[X]], %[[RSTD]], %[[W]], %[[DY]]
  // CHECK-NEXT:   %[[NEXT:.*]] = llm.add %[[SUM]], %[[DX]]
  // CHECK-NEXT:   llm.yield %[[NEXT]]
  %dx = llm.rms_norm_grad %x, %rstd, %w, %dy : (tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %sum = llm.add %so_far, %dx : tensor<1x4x8xf32>
  //      CHECK: llm.kernel
  // CHECK-NEXT:   llm.dropout
  // CHECK-NEXT:   llm.add
  // CHECK-NEXT:   llm.yield
  %dropped = llm.dropout %x, %seed {p = 0.5 : f64, key = 1 : i64} : tensor<1x4x8xf32>, tensor<2xi32>
  %residual = llm.add %dy, %dropped : tensor<1x4x8xf32>
  return %p, %sum, %residual : tensor<1x2x4x4xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
