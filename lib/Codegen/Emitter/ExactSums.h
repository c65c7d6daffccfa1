//===- ExactSums.h - Sums that keep their rounding errors -----------------===//
//
// This is Knuth's TwoSum (The Art of Computer Programming, volume 2, 4.2.2): the part of each
// addition that rounding loses is a number of the same type, and is kept with the sum.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_EXACTSUMS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_EXACTSUMS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Adds `x` to a sum and the rounding error that it has accumulated.
Row addExactly(llvm::ArrayRef<Num> sum, Num x);

/// Combines two such pairs; their order changes no bit.
Row addTogether(llvm::ArrayRef<Num> a, llvm::ArrayRef<Num> b);

/// Returns `lanes` neighbouring columns of a row from `j` on.
using ColumnTerm = llvm::function_ref<Num(Index row, Index j, unsigned lanes)>;

/// Computes result[j] = into[j] (0 where `into` is null) + term(0, j) + term(1, j) + ... of `rows`
/// rows, for `vectors` neighbouring vectors of `lanes` columns from `begin` on.
void emitColumnSums(KernelEmitter &e, Buffer into, int64_t rows, Index begin, int64_t vectors,
                    unsigned lanes, ColumnTerm term);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_EXACTSUMS_H
