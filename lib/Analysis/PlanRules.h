//===- PlanRules.h - The verifier's own rules of whose bytes a result has ----===//
//
// This file is a part of `verifyPlan`. It decides by itself which operand a result is a view of,
// which operands it may be written over and which ops are constants: for ops of our dialect from
// what each op computes (the table in PlanRules.cpp), for those of MLIR from its interfaces and
// traits (PlanRulesUpstream.cpp), both with the bytes of types as PlanBytes.h counts them. It uses
// neither BufferOpInterface, nor the models in lib/Upstream, nor lib/Layout. An op of any other
// dialect is known only from its own statements, so these are trusted.
//
// unittests/Dialect/PlanRulesTest.cpp compares these rules with those that plans are made with,
// over every op of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_ANALYSIS_PLANRULES_H
#define LLMMEM_LIB_ANALYSIS_PLANRULES_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace llmmem {

/// Returns the operand that `result` is a view of; none where it has bytes of its own.
std::optional<unsigned> planViewedOperand(mlir::OpResult result);

/// Returns the value that `value` is a view of, through any number of views; itself where it is
/// none.
mlir::Value planRootOf(mlir::Value value);

/// Returns the operands that `result` may be written over where its op is the last to read them,
/// each looked at alone: the caller must check all operands that refer to the same bytes.
llvm::SmallVector<unsigned> planInPlaceOperands(mlir::OpResult result);

/// Returns whether the results of `op` are constants, which are held throughout.
bool isPlanConstant(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_LIB_ANALYSIS_PLANRULES_H
