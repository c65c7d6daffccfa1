// The printed form of every op of RecurrentOps.td parses again.
// RUN: llmmem-opt %s | llmmem-opt | FileCheck %s

// CHECK-LABEL: func.func @training(
// CHECK: %{{.*}}, %[[STATES:.*]] = llm.state_scan %arg0, %arg0, %arg1 decay(%arg2) strength(%arg2) {chunk = 4 : i64, delta, scale = 2.500000e-01 : f64}
// CHECK: llm.state_scan_grad %arg0, %arg0, %arg1 decay(%arg2) strength(%arg2) states(%[[STATES]]) %arg1 {chunk = 4 : i64, delta}
func.func @training(%q: tensor<2x8x2x6xbf16>, %v: tensor<2x8x4x5xbf16>, %g: tensor<2x8x4xf32>) {
  %y, %s = llm.state_scan %q, %q, %v decay(%g) strength(%g) {delta, scale = 0.25 : f64, chunk = 4 : i64}
     : (tensor<2x8x2x6xbf16>, tensor<2x8x2x6xbf16>, tensor<2x8x4x5xbf16>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
       -> (tensor<2x8x4x5xbf16>, tensor<2x2x4x6x5xf32>)
  %0:5 = llm.state_scan_grad %q, %q, %v decay(%g) strength(%g) states(%s) %v {delta, chunk = 4 : i64}
     : (tensor<2x8x2x6xbf16>, tensor<2x8x2x6xbf16>, tensor<2x8x4x5xbf16>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x2x4x6x5xf32>, tensor<2x8x4x5xbf16>)
       -> (tensor<2x8x4x6xbf16>, tensor<2x8x4x6xbf16>, tensor<2x8x4x5xbf16>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  return
}

// CHECK-LABEL: func.func @inference(
// CHECK: llm.cached_scan %arg0, %arg0, %arg1 decay(%arg2) strength(%arg2) state(%arg3) at(%arg4)
func.func @inference(%q: tensor<2x1x2x6xbf16>, %v: tensor<2x1x4x5xbf16>, %g: tensor<2x1x4xf32>, %s: tensor<2x4x6x5xf32>, %p: tensor<2x1xi32>) {
  %y, %n = llm.cached_scan %q, %q, %v decay(%g) strength(%g) state(%s) at(%p)
     : (tensor<2x1x2x6xbf16>, tensor<2x1x2x6xbf16>, tensor<2x1x4x5xbf16>, tensor<2x1x4xf32>, tensor<2x1x4xf32>, tensor<2x4x6x5xf32>, tensor<2x1xi32>)
       -> (tensor<2x1x4x5xbf16>, tensor<2x4x6x5xf32>)
  return
}

// CHECK-LABEL: func.func @gates(
// CHECK: llm.logistic %arg0 : tensor<2x8x4xf32>
// CHECK: llm.softplus %arg0 : tensor<2x8x4xf32>
// CHECK: %[[LEFT:.*]] = llm.exp %arg1 : tensor<4xf32>
// CHECK: llm.scale_columns %arg0, %[[LEFT]] : tensor<2x8x4xf32>, tensor<4xf32>
func.func @gates(%x: tensor<2x8x4xf32>, %w: tensor<4xf32>) {
  %0 = llm.logistic %x : tensor<2x8x4xf32>
  %1 = llm.softplus %x : tensor<2x8x4xf32>
  %2 = llm.exp %w : tensor<4xf32>
  %3 = llm.scale_columns %x, %2 : tensor<2x8x4xf32>, tensor<4xf32>
  return
}
