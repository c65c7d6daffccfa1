// An activation goes into the kernel of its product, which still gives what the backward reads; names, phase and block go
// along.
//
// RUN: llmmem-opt --fuse-epilogues %s | FileCheck %s

// CHECK-LABEL: func @step
//       CHECK: %[[K:.*]]:2 = llm.kernel(%[[X:.*]] = %arg0, %[[W:.*]] = %arg1, %[[B:.*]] = %arg2)
//  CHECK-NEXT:   %[[H:.*]] = llm.linear %[[X]], %[[W]] bias(%[[B]]) layout(in_out) :
//  CHECK-NEXT:   %[[A:.*]] = llm.gelu %[[H]] :
//  CHECK-NEXT:   llm.yield %[[H]], %[[A]] :
//  CHECK-NEXT: attributes {llm.block = 2 : i64, llm.name = "fc", llm.phase = "forward", llm.result_names = ["fc", "act"]}
//       CHECK: llm.linear_weight_grad %[[K]]#1,
//       CHECK: llm.gelu_grad %[[K]]#0,
func.func @step(%x: tensor<1x4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %dy: tensor<1x4x8xf32>, %da: tensor<1x4x16xf32>)
    -> (tensor<16x8xf32>, tensor<1x4x16xf32>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out) {llm.block = 2 : i64, llm.name = "fc", llm.phase = "forward"}
     : (tensor<1x4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<1x4x16xf32>
  %a = llm.gelu %h {llm.block = 2 : i64, llm.name = "act", llm.phase = "forward"} : tensor<1x4x16xf32>
  %dw = llm.linear_weight_grad %a, %dy layout(in_out) {llm.block = 2 : i64, llm.phase = "backward"}
     : (tensor<1x4x16xf32>, tensor<1x4x8xf32>) -> tensor<16x8xf32>
  %dh = llm.gelu_grad %h, %da {llm.block = 2 : i64, llm.phase = "backward"} : tensor<1x4x16xf32>
  return %dw, %dh : tensor<16x8xf32>, tensor<1x4x16xf32>
}
