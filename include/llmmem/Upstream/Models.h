//===- Models.h - What MLIR's own dialects cost and overwrite --------------===//
//
// Provides external models of CostOpInterface and BufferOpInterface for ops of linalg, tensor,
// arith, math, scf and tosa. They follow from what the ops' interfaces and types say: iteration
// spaces, indexing maps, destinations. lib/Upstream has one file a dialect.
//
// Example: `linalg.matmul` of 128x768 with 768x3072 has 2 * 128 * 768 * 3072 FLOPs, and its result
// reuses the bytes of its destination where no op reads that later.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UPSTREAM_MODELS_H
#define LLMMEM_UPSTREAM_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace llmmem {

/// Attaches the models as soon as their dialects are loaded. An op that already has a model, from
/// the surrounding program, keeps it.
void registerUpstreamModels(mlir::DialectRegistry &registry);

} // namespace llmmem

#endif // LLMMEM_UPSTREAM_MODELS_H
