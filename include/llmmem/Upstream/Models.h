//===- Models.h - What MLIR's own dialects cost and overwrite --------------===//
//
// External models of CostOpInterface and BufferOpInterface for ops of linalg, tensor, arith, math,
// scf and tosa, by what their interfaces and types say: iteration spaces, indexing maps,
// destinations. One file a dialect in lib/Upstream.
//
// Example: `linalg.matmul` of 128x768 with 768x3072 has 2 * 128 * 768 * 3072 FLOPs, and its result
// takes over the bytes of its destination where nobody reads that again.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UPSTREAM_MODELS_H
#define LLMMEM_UPSTREAM_MODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace llmmem {

/// Attaches the models as soon as their dialects are loaded. An op that has a model already, of the
/// program around, keeps it.
void registerUpstreamModels(mlir::DialectRegistry &registry);

} // namespace llmmem

#endif // LLMMEM_UPSTREAM_MODELS_H
