//===- CudaProgram.h - The kernels of a step, ready to load ----------------===//

#ifndef LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H
#define LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H

#include "llmmem/Execution/CudaDevice.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

struct CudaProgram {
  std::vector<std::string> ptx;
  /// By the numbers that launches name them with.
  std::vector<CudaDevice::Kernel> kernels;

  /// Takes what `convert-gpu-kernels-to-nvvm` has left in a module out of it, so that host code is
  /// all that is left.
  static CudaProgram takeFrom(mlir::ModuleOp module);
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H
