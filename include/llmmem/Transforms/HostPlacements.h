//===- HostPlacements.h - What a graph of XLA sends to the host -------------===//

#ifndef LLMMEM_TRANSFORMS_HOSTPLACEMENTS_H
#define LLMMEM_TRANSFORMS_HOSTPLACEMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Makes copies to the host and back of the custom calls by which XLA knows them: a call of
/// `annotate_device_placement` whose frontend attribute `_xla_buffer_placement` is `pinned_host` or
/// `unpinned_host` becomes `llm.copy_up`, and one that says `device` and reads such a value
/// `llm.copy_down`. So what lies on the host takes none of the device's bytes. A call whose result
/// something else reads, and one without such an attribute, stays as it is. `llmmem.call` and
/// two attributes next to it hold what was written.
void readHostPlacements(mlir::func::FuncOp step);

/// Undoes `readHostPlacements`, wherever the copies are now.
void writeHostPlacements(mlir::ModuleOp module);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_HOSTPLACEMENTS_H
