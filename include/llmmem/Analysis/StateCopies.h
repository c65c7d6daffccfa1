//===- StateCopies.h - What touches the host in every plan ------------------===//

#ifndef LLMMEM_ANALYSIS_STATECOPIES_H
#define LLMMEM_ANALYSIS_STATECOPIES_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Returns the argument in the host's memory that `copy` brings to the device, or takes a new value
/// to; null for all other copies.
inline mlir::BlockArgument stateOf(mlir::Operation *copy) {
  mlir::Value host;
  if (auto up = mlir::dyn_cast<llm::CopyToHostOp>(copy))
    host = up.getDestination();
  else if (auto down = mlir::dyn_cast<llm::CopyToDeviceOp>(copy))
    host = down.getHost();
  return mlir::dyn_cast_or_null<mlir::BlockArgument>(host);
}

/// Returns whether what runs on the host reads `copied`, the result of a device-to-host copy, or of
/// its wait.
inline bool isReadOnHost(mlir::Value copied) {
  return llvm::any_of(copied.getUsers(), [](mlir::Operation *user) {
    return llm::runsOnHost(user) ||
           (mlir::isa<llm::WaitOp>(user) && isReadOnHost(user->getResult(0)));
  });
}

/// Returns whether what runs on the host made `value`, which may be the result of its wait.
inline bool isMadeOnHost(mlir::Value value) {
  mlir::Operation *writer = value.getDefiningOp();
  if (auto wait = mlir::dyn_cast_or_null<llm::WaitOp>(writer))
    writer = wait.getStart();
  return writer && llm::runsOnHost(writer);
}

/// Names the attribute of copies that a graph of another compiler has itself (HostPlacements.h).
inline constexpr llvm::StringLiteral kOwnCopy = "llmmem.call";

/// Returns whether `op` touches the host in every plan: it runs there, copies for what does, copies
/// what lies there throughout, or stood in the program before there was a plan. A copy of what
/// leaves within the step is a plan's own. An op of every plan has no time in any plan's cost,
/// since it runs at the same time as the plan's ops; the report has it (MemoryReport, `overlap`).
inline bool isOnHostInEveryPlan(mlir::Operation *op) {
  if (llm::runsOnHost(op) || stateOf(op) || op->hasAttr(kOwnCopy))
    return true;
  if (auto up = mlir::dyn_cast<llm::CopyToHostOp>(op))
    return isReadOnHost(up.getHost());
  auto down = mlir::dyn_cast<llm::CopyToDeviceOp>(op);
  return down && isMadeOnHost(down.getHost());
}

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_STATECOPIES_H
