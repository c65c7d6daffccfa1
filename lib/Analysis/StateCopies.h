//===- StateCopies.h - Copies of what lies on the host throughout -----------===//

#ifndef LLMMEM_LIB_ANALYSIS_STATECOPIES_H
#define LLMMEM_LIB_ANALYSIS_STATECOPIES_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// The argument in the host's memory that `copy` brings to the device, or takes a new value to;
/// null for copies of what leaves within the step. Such copies run in every plan, and beside its
/// ops, so that no plan's cost has their time; the report has (MemoryReport, `overlap`).
inline mlir::BlockArgument stateOf(mlir::Operation *copy) {
  mlir::Value host;
  if (auto up = mlir::dyn_cast<llm::CopyUpOp>(copy))
    host = up.getDestination();
  else if (auto down = mlir::dyn_cast<llm::CopyDownOp>(copy))
    host = down.getHost();
  return mlir::dyn_cast_or_null<mlir::BlockArgument>(host);
}

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_STATECOPIES_H
