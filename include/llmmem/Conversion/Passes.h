//===- Passes.h - From planned steps to LLVM -------------------------------===//

#ifndef LLMMEM_CONVERSION_PASSES_H
#define LLMMEM_CONVERSION_PASSES_H

#include "llmmem/Conversion/KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Conversion/Passes.h.inc"

/// The rest of the way, from kernels to the LLVM dialect. Transcendental functions in f32 become
/// polynomials and bf16 becomes integer arithmetic, so that results do not depend on the machine or
/// on the width of its vectors.
void buildKernelsToLLVMPipeline(mlir::OpPassManager &manager);

/// Makes kernels of a GPU (docs/Design/Gpu.md) such ones, which the emulator runs.
void buildEmulatedKernelsPipeline(mlir::OpPassManager &manager);

/// Makes that pipeline a flag: --convert-kernels-to-llvm.
void registerKernelsToLLVMPipeline();

/// On a module: the kernels that host code launches by number.
constexpr llvm::StringLiteral kKernelsAttr = "llmmem.kernels";

/// On a module: the locations of the library products that host code computes by number.
constexpr llvm::StringLiteral kProductsAttr = "llmmem.products";

/// On a barrier of a GPU's kernel: how many registers a thread needs. (Of a launch's own attributes
/// outlining keeps none.)
constexpr llvm::StringLiteral kRegistersAttr = "llm.registers";

/// From outlined kernels (docs/Design/Gpu.md) to PTX in the module, and from their launches to
/// calls of lib/Runtime/Cuda.h. What is left on the host, `convert-kernels-to-llvm` lowers.
void buildGpuKernelsToNVVMPipeline(mlir::OpPassManager &manager, llvm::StringRef chip);

/// The same for kernels of a GPU (docs/Design/Gpu.md) that the emulator runs.
void buildEmulatedKernelsToLLVMPipeline(mlir::OpPassManager &manager);

/// From a planned step to PTX and calls.
void buildStepToCudaPipeline(mlir::OpPassManager &manager, ConvertStepToKernelsOptions options,
                             llvm::StringRef chip);

/// Makes the pipeline of kernels a flag: --convert-gpu-kernels-to-nvvm="chip=sm_90a".
void registerGpuKernelsToNVVMPipeline();

/// Functions of f64 as arithmetic: sine, cosine, powers with a whole exponent.
void populateExpandDoubleFunctionsPatterns(mlir::RewritePatternSet &patterns);

} // namespace llmmem

#endif // LLMMEM_CONVERSION_PASSES_H
