//===- KernelPipelines.h - From a planned step to code that runs -----------===//
//
//   planned step --buildStepToCudaPipeline--------> PTX and host code
//   CPU kernels ---buildKernelsToLLVMPipeline-----> the LLVM dialect
//   GPU kernels ---buildGpuKernelsToNVVMPipeline--> PTX, and launches as calls of the runtime
//   GPU kernels ---buildEmulatedKernelsPipeline---> functions of a thread, for the emulator
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PIPELINES_KERNELPIPELINES_H
#define LLMMEM_PIPELINES_KERNELPIPELINES_H

#include "llmmem/Conversion/Passes.h"

namespace llmmem {

/// Builds the rest of the way, from kernels to the LLVM dialect. Transcendental functions in f32
/// become polynomials and bf16 becomes integer arithmetic, so that results do not depend on the
/// machine or on the width of its vectors.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &manager);

/// Turns kernels of a GPU (docs/Design/Gpu.md) into functions of a thread, which the emulator runs.
void buildEmulatedKernelsPipeline(mlir::OpPassManager &manager);

/// Lowers outlined kernels (docs/Design/Gpu.md) to PTX in the module, and their launches to calls
/// of include/llmmem/Runtime/Cuda.h. What is left on the host, `convert-kernels-to-llvm` lowers.
void buildGpuKernelsToNVVMPipeline(mlir::OpPassManager &manager, llvm::StringRef chip);

/// Lowers a planned step to PTX and calls.
void buildStepToCudaPipeline(mlir::OpPassManager &manager, ConvertStepToKernelsOptions options,
                             llvm::StringRef chip);

/// Makes two of them flags: --convert-kernels-to-llvm and
/// --convert-gpu-kernels-to-nvvm="chip=sm_90a".
void registerKernelPipelines();

} // namespace llmmem

#endif // LLMMEM_PIPELINES_KERNELPIPELINES_H
