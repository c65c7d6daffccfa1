//===- Targets.h - What CPUs, GPUs and their libraries need in a plan ------===//
//
// A plan needs some facts of targets before any code is generated: what a matmul library computes
// in one call, and the scratch bytes of kernels. They are here, below the analyses, and the code
// generators read them too.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TARGETS_TARGETS_H
#define LLMMEM_TARGETS_TARGETS_H

#include "mlir/IR/DialectRegistry.h"

namespace llmmem {

/// Registers the targets with the dialect, whose ops call them (Dialect/TargetInterface.h).
void registerTargets(mlir::DialectRegistry &registry);

} // namespace llmmem

#endif // LLMMEM_TARGETS_TARGETS_H
