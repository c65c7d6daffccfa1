// Collectives have no kernel on a GPU yet, and say so.
// RUN: not llmmem-opt --convert-step-to-kernels=target=gpu %s 2>&1 | FileCheck %s
// CHECK: gpu-collective-refused.mlir:[[#@LINE+4]]:8: error: 'llm.all_reduce' op has no kernel on a GPU yet; lower the step for a CPU

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {llm.arena = 1024 : i64, llm.mesh = #llm.mesh<dp = 2>} {
  %y = llm.all_reduce %x over ["dp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 256, 16>} : tensor<4xf32>
  return %y : tensor<4xf32>
}
