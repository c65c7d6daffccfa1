//===- UpdatesOnHost.h - Updates that run on the host -----------------------===//
//
// This file is a part of `moveStateToHost` (include/llmmem/Transforms/StateOnHost.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_UPDATESONHOST_H
#define LLMMEM_LIB_TRANSFORMS_UPDATESONHOST_H

#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Moves every update of `step` to the host, with what it reads and writes; `isMoved` says about a
/// parameter's argument that it lies there too. Fails, after a located diagnostic, at an update
/// that reads whole rows or is a server's, and at state that something else reads.
llvm::LogicalResult moveUpdatesToHost(mlir::func::FuncOp step, const planning::HostLink &link,
                                      llvm::function_ref<bool(mlir::BlockArgument)> isMoved);

/// Writes the name and the cost of a copy of what lies on the host throughout.
void describeHostCopy(mlir::Operation *copy, llvm::StringRef name, int64_t ns);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_UPDATESONHOST_H
