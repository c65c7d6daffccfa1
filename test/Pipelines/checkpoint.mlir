// The pipeline runs by its name, as in mlir-opt; its options have the names that the flags end in.
//
// RUN: llmmem-opt --pass-pipeline='builtin.module(llmmem-checkpoint{policy=full device=cpu})' %s | FileCheck %s
// RUN: not llmmem-opt --pass-pipeline='builtin.module(llmmem-checkpoint{budget=4XB})' %s 2>&1 | FileCheck --check-prefix=BUDGET %s
// RUN: not llmmem-opt --pass-pipeline='builtin.module(llmmem-checkpoint{buget=4GB})' %s 2>&1 | FileCheck --check-prefix=NAME %s
// RUN: not llmmem-opt --pass-pipeline='builtin.module(llmmem-checkpoint{budget=1})' %s 2>&1 | FileCheck --check-prefix=NONE %s

// CHECK: func.func @step
// CHECK-SAME: llm.arena
// BUDGET: llmmem-checkpoint: budget:
// NAME: llmmem-checkpoint:{{.*}}buget
// NONE: error: no plan exists under a budget of 1 B (1 bytes) with policy 'budget'

func.func @step(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = llm.gelu %x {llm.phase = "forward"} : tensor<4x8xf32>
  %1 = llm.gelu_grad %x, %0 {llm.phase = "backward"} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
