//===- Passes.h - From GPU kernels to the emulator -------------------------===//

#ifndef LLMMEM_EMULATION_LOWERING_PASSES_H
#define LLMMEM_EMULATION_LOWERING_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Emulation/Lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmmem/Emulation/Lowering/Passes.h.inc"

} // namespace llmmem

#endif // LLMMEM_EMULATION_LOWERING_PASSES_H
