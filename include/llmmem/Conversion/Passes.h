//===- Passes.h - From planned steps to LLVM -------------------------------===//

#ifndef LLMMEM_CONVERSION_PASSES_H
#define LLMMEM_CONVERSION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// Makes that pipeline a flag: --convert-kernels-to-llvm.
void registerKernelsToLLVMPipeline();

} // namespace llmmem

#endif // LLMMEM_CONVERSION_PASSES_H
