// RUN: not llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=h100" 2>&1 | FileCheck %s

// CHECK: chip.mlir:4:1: error: cannot be lowered for chip 'h100'; expected the name of an NVIDIA GPU's architecture, as sm_80 or sm_90a
module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}
