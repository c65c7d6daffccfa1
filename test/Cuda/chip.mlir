// A chip is an architecture that PTX 8.0 has and whose tensor cores the kernels use. LLVM ends the process where it is asked for
// one that it does not know, or that is too old or too new.
// RUN: not llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=h100" 2>&1 | FileCheck %s -DCHIP=h100
// RUN: not llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_999" 2>&1 | FileCheck %s -DCHIP=sm_999
// RUN: not llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_75" 2>&1 | FileCheck %s -DCHIP=sm_75
// RUN: not llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_100" 2>&1 | FileCheck %s -DCHIP=sm_100
// RUN: llmmem-opt %s --convert-gpu-kernels-to-nvvm="chip=sm_89"

// CHECK: chip.mlir:[[@LINE+1]]:1: error: cannot be lowered for chip '[[CHIP]]'; expected one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a; a newer GPU compiles the PTX of sm_90 when it loads it
module attributes {gpu.container_module} {
  gpu.module @kernel_module {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}
