//===- Expectations.h - What data decides in a kernel, on average ----------===//
//
// The author of a kernel knows how often data lets a loop of it run, and which share of a buffer it
// must read. Attributes carry that to the reports that count what a kernel does (KernelAnalysis);
// no code depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_EXPECTATIONS_H
#define LLMMEM_CODEGEN_EMITTER_EXPECTATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Sets, for a loop or a branch of a kernel that depends on data, how often its body runs each time
/// that a thread reaches it, on average over the launch.
void expectIterations(mlir::Operation *op, double iterations);
/// Returns what `expectIterations` set, or 1.
double expectedIterations(mlir::Operation *op);

/// Sets, for a buffer of a kernel's host function of which data decides what must be read, the
/// share of its bytes that must be read. Example: for the weights of 8 experts of which a token
/// chooses 2 it is 0.25.
void expectShare(mlir::Value buffer, double share);
/// Returns what `expectShare` set for argument `number`, or 1.
double expectedShare(mlir::func::FuncOp host, unsigned number);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_EXPECTATIONS_H
