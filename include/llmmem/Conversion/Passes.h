//===- Passes.h - From planned steps to LLVM -------------------------------===//

#ifndef LLMMEM_CONVERSION_PASSES_H
#define LLMMEM_CONVERSION_PASSES_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class GreedyRewriteConfig;
} // namespace mlir

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Conversion/Passes.h.inc"

/// Adds patterns that expand functions of f64 into arithmetic: sine, cosine, powers with an integer
/// exponent.
void populateExpandDoubleFunctionsPatterns(mlir::RewritePatternSet &patterns);

/// Returns how GPU kernels are simplified: blocks that differ only in what they read are not
/// merged. The merged block would take all operands as arguments: a tree of comparisons over a
/// hundred tensors would hold all their addresses in registers.
mlir::GreedyRewriteConfig keepBlocksApart();

} // namespace llmmem

#endif // LLMMEM_CONVERSION_PASSES_H
