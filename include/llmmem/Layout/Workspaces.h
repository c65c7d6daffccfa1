//===- Workspaces.h - Scratch bytes that an op needs while it runs ----------===//

#ifndef LLMMEM_LAYOUT_WORKSPACES_H
#define LLMMEM_LAYOUT_WORKSPACES_H

#include "mlir/IR/Operation.h"

namespace llmmem {

/// Returns whether `op` says by its interface what it costs and which scratch bytes it needs. Where
/// `llm.cost_from` names another op, the `llm.cost` of that op comes first.
bool pricesItself(mlir::Operation *op);

/// Returns the scratch bytes held only while `op` runs: by its interface, else by its `llm.cost`.
int64_t workspaceBytes(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_WORKSPACES_H
