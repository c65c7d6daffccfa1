//===- InPlace.h - When a result may share an operand's bytes ---------------===//
//
// Each op states what it may overwrite (BufferOpInterface; lib/Dialect/LlmBuffers.cpp for our ops,
// a file of lib/Upstream for each dialect of MLIR). `mayOverwrite` derives from this what is
// allowed for bytes that an op reads as several operands. Among the allowed pairs the planner's
// matching chooses (Planning/Model/InPlace.h), in both places.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LAYOUT_INPLACE_H
#define LLMMEM_LAYOUT_INPLACE_H

#include "llmmem/Interfaces/BufferOpInterface.h"

namespace llmmem {

/// Returns the operands that a result may take over; it is `inPlaceOperands` for all except a
/// described region.
using InPlacePermission = llvm::function_ref<llvm::SmallVector<unsigned>(mlir::OpResult)>;

/// Returns whether `result` may be written where the operands lie of which `liesThere` holds: there
/// is one, and the result may take over each of them. An op that reads bytes as two operands, the
/// second perhaps a view of the first, may overwrite them only where both allow it.
///
/// Example: `linear_weight_grad(%a, %dy) into(%b)` may use the bytes of %b, but not where %a and %b
/// are one value: the matmul reads %a to its end.
bool mayOverwrite(mlir::OpResult result, llvm::function_ref<bool(mlir::Value)> liesThere,
                  InPlacePermission allowed = inPlaceOperands);

/// Holds a result, and the value with bytes of its own that it may be written over.
struct InPlaceCandidate {
  mlir::OpResult result;
  mlir::Value source;
};

/// Returns what `op` permits, by result and by the order in which it names operands. `rootOf` gives
/// the value whose bytes a value has, or null for one that nothing may take over. The caller judges
/// lifetimes and sizes.
llvm::SmallVector<InPlaceCandidate, 4>
inPlaceCandidates(mlir::Operation *op, llvm::function_ref<mlir::Value(mlir::Value)> rootOf,
                  InPlacePermission allowed = inPlaceOperands);

/// Returns which candidates of one op, all of which fit and whose sources all die there, are taken:
/// the choice that shares the most bytes, each result and each source once.
llvm::SmallVector<InPlaceCandidate, 4> chooseInPlace(llvm::ArrayRef<InPlaceCandidate> candidates);

} // namespace llmmem

#endif // LLMMEM_LAYOUT_INPLACE_H
