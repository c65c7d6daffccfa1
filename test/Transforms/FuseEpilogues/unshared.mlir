// `unshared` fuses a product that nothing but its epilogue reads, as the gradient of an activation; one that the backward reads
// again stays apart.
//
// RUN: llmmem-opt --fuse-epilogues=which=unshared %s | FileCheck %s

// CHECK-LABEL: func @step
//       CHECK: llm.linear %arg0, %arg1
//  CHECK-NEXT: llm.gelu
//       CHECK: llm.kernel(%[[DY:.*]] = %arg2, %[[V:.*]] = %arg3, %[[H:.*]] = %{{.*}})
//  CHECK-NEXT:   %[[DA:.*]] = llm.linear %[[DY]], %[[V]] layout(out_in) :
//  CHECK-NEXT:   %[[DH:.*]] = llm.gelu_grad %[[H]], %[[DA]] :
//  CHECK-NEXT:   llm.yield %[[DH]] :
func.func @step(%x: tensor<1x4x8xf32>, %w: tensor<8x16xf32>, %dy: tensor<1x4x8xf32>, %v: tensor<16x8xf32>)
    -> (tensor<1x4x16xf32>, tensor<1x4x16xf32>) {
  %h = llm.linear %x, %w layout(in_out) {llm.phase = "forward"} : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  %a = llm.gelu %h {llm.phase = "forward"} : tensor<1x4x16xf32>
  %da = llm.linear %dy, %v layout(out_in) {llm.phase = "backward"} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %dh = llm.gelu_grad %h, %da {llm.phase = "backward"} : tensor<1x4x16xf32>
  return %a, %dh : tensor<1x4x16xf32>, tensor<1x4x16xf32>
}
