//===- PlanRulesUpstream.h - The verifier's own rules for MLIR's dialects -----===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANRULESUPSTREAM_H
#define LLMMEM_LIB_ANALYSIS_PLANRULESUPSTREAM_H

#include "PlanRules.h"

namespace llmmem {

/// Returns whether `op` is of a dialect of MLIR whose meaning the verifier knows.
bool isKnownUpstream(mlir::Operation *op);

/// These do what `planViewedOperand` and `planInPlaceOperands` do, for such an op.
std::optional<unsigned> viewedOperandUpstream(mlir::OpResult result);
llvm::SmallVector<unsigned> inPlaceOperandsUpstream(mlir::OpResult result);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANRULESUPSTREAM_H
