//===- InPlace.h - Which results take which operands' bytes ---------------------===//

#ifndef LLMMEM_PLANNING_MODEL_INPLACE_H
#define LLMMEM_PLANNING_MODEL_INPLACE_H

#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem::planning {

/// Returns the in-place pairs that one run of `op` uses, given which of its operands die there. It
/// makes the choice that shares the most bytes. A result takes the bytes of one operand, an operand
/// gives its bytes to one result, and a resident operand gives them to none. Example: pairs {y, a},
/// {y, b}, {z, a}, all of one size and dying: {y, b}, {z, a}.
llvm::SmallVector<InPlace, 4> chooseInPlace(const Problem &problem, const Op &op,
                                            llvm::function_ref<bool(ValueIndex)> dies);

/// Makes the same choice among pairs that are all allowed: each operand dies and is large enough.
/// `bytesOf` returns the bytes of a result.
llvm::SmallVector<InPlace, 4> chooseInPlace(llvm::SmallVector<InPlace, 4> allowed,
                                            llvm::function_ref<int64_t(ValueIndex)> bytesOf);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_INPLACE_H
