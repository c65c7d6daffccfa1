//===- ExportGraph.h - A planned graph in the words of its own dialect -----===//

#ifndef LLMMEM_TRANSFORMS_EXPORTGRAPH_H
#define LLMMEM_TRANSFORMS_EXPORTGRAPH_H

#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

/// Removes every `llm.*` attribute.
void stripAnnotations(mlir::ModuleOp module);

/// Makes a planned step of StableHLO or MHLO a program of that dialect alone: before each
/// run of clones all that is held there, and what they read, passes one `optimization_barrier`, so
/// that they can neither be merged with their originals nor run before their time; and no attribute
/// of llmmem is left. Returns the number of barriers; fails, after a diagnostic, on a step without
/// an op of these dialects.
llvm::FailureOr<int64_t> exportGraph(mlir::ModuleOp module);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_EXPORTGRAPH_H
