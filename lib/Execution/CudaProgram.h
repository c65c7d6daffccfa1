//===- CudaProgram.h - The kernels of a step, ready to load ----------------===//

#ifndef LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H
#define LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H

#include "llmmem/Execution/CudaDevice.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

struct CudaProgram {
  std::vector<std::string> ptx;
  /// Indexed by the numbers that launches name them with.
  std::vector<CudaDevice::Kernel> kernels;

  /// Removes the results of `convert-gpu-kernels-to-nvvm` from a module, so that only host code
  /// remains.
  static CudaProgram takeFrom(mlir::ModuleOp module);
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CUDAPROGRAM_H
