// silu(gate) is read by the backward, which reads gate anyway: each backward kernel computes it again, and the two
// that read the same gradient are one. Nothing but gate and up is saved.
//
// RUN: llmmem-opt --group-kernels %s | FileCheck %s

// CHECK-LABEL: func @step
func.func @step(%gate: tensor<1x4x8xf32>, %up: tensor<1x4x8xf32>, %w: tensor<8x8xf32>, %dz: tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %g = llm.linear %gate, %w layout(in_out) {llm.phase = "forward"} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  //      CHECK: %[[GATE:.*]] = llm.linear
  //      CHECK: llm.kernel(%[[G:.*]] = %[[GATE]], %[[U:.*]] = %arg1)
  // CHECK-NEXT:   %[[ACT:.*]] = llm.silu %[[G]]
  // CHECK-NEXT:   llm.mul %[[ACT]], %[[U]]
  %act = llm.silu %g {llm.phase = "forward"} : tensor<1x4x8xf32>
  %gated = llm.mul %act, %up {llm.phase = "forward"} : tensor<1x4x8xf32>
  %dy = llm.linear %dz, %w layout(out_in) {llm.phase = "backward"} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  //      CHECK: %[[DY:.*]] = llm.linear
  //      CHECK: %{{.*}}:2 = llm.kernel(%[[D:.*]] = %[[DY]], %[[U:.*]] = %arg1, %[[G:.*]] = %[[GATE]])
  // CHECK-NEXT:   %[[DACT:.*]] = llm.mul %[[D]], %[[U]]
  // CHECK-NEXT:   %[[AGAIN:.*]] = llm.silu %[[G]]
  // CHECK-NEXT:   %[[DUP:.*]] = llm.mul %[[D]], %[[AGAIN]]
  // CHECK-NEXT:   %[[DGATE:.*]] = llm.silu_grad %[[G]], %[[DACT]]
  // CHECK-NEXT:   llm.yield %[[DUP]], %[[DGATE]]
  // CHECK-NEXT: llm.result_names = ["up.gradient", "gate.gradient"]
  %dact = llm.mul %dy, %up {llm.phase = "backward"} : tensor<1x4x8xf32>
  %dup = llm.mul %dy, %act {llm.phase = "backward", llm.name = "up.gradient"} : tensor<1x4x8xf32>
  %dgate = llm.silu_grad %g, %dact {llm.phase = "backward", llm.name = "gate.gradient"} : tensor<1x4x8xf32>
  return %gated, %dup, %dgate : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
