// The printed form of every op of ConvolutionOps.td parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @training(
// CHECK: llm.causal_conv %arg0, %arg1 : tensor<8x16x64xbf16>, tensor<3x64xbf16>
// CHECK: llm.causal_conv %{{.*}}, %arg1 {inverse} : tensor<8x16x64xbf16>, tensor<3x64xbf16>
// CHECK: llm.causal_conv_weight_grad %arg0, %{{.*}} into(%arg1)
// CHECK-SAME: : (tensor<8x16x64xbf16>, tensor<8x16x64xbf16>, tensor<3x64xbf16>) -> tensor<3x64xbf16>
func.func @training(%x: tensor<8x16x64xbf16>, %w: tensor<3x64xbf16>) {
  %y = llm.causal_conv %x, %w : tensor<8x16x64xbf16>, tensor<3x64xbf16>
  %dx = llm.causal_conv %y, %w {inverse} : tensor<8x16x64xbf16>, tensor<3x64xbf16>
  %dw = llm.causal_conv_weight_grad %x, %dx into(%w)
     : (tensor<8x16x64xbf16>, tensor<8x16x64xbf16>, tensor<3x64xbf16>) -> tensor<3x64xbf16>
  return
}

// CHECK-LABEL: func.func @inference(
// CHECK: llm.cached_conv %arg0, %arg1 state(%arg2) at(%arg3)
// CHECK: llm.append_state %arg2, %arg0 at(%arg3)
func.func @inference(%x: tensor<4x1x64xbf16>, %w: tensor<3x64xbf16>, %s: tensor<4x2x64xbf16>, %p: tensor<4x1xi32>) {
  %y = llm.cached_conv %x, %w state(%s) at(%p)
     : (tensor<4x1x64xbf16>, tensor<3x64xbf16>, tensor<4x2x64xbf16>, tensor<4x1xi32>) -> tensor<4x1x64xbf16>
  %t = llm.append_state %s, %x at(%p) : (tensor<4x2x64xbf16>, tensor<4x1x64xbf16>, tensor<4x1xi32>) -> tensor<4x2x64xbf16>
  return
}
