//===- PackedTerms.h - Terms of a product by a packed B -------------------===//
//
// What a narrow matmul (NarrowMatmul.h) multiplies where B is held in fewer bits: vectors of
// neighbouring columns, unpacked in registers from bytes that are read once. Elements are those of
// `FactorB::load`, so bits do not depend on how they were read.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H
#define LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H

#include "FactorB.h"

namespace llmmem::gemm {

/// Vectors that are unpacked together: of i4 two, as bytes hold two neighbours.
int64_t vectorsTogether(const PackedFormat &format);

/// `count` vectors of a row of B that is not transposed, from a multiple of their elements on. Of
/// i4 the first of two vectors has the columns with even numbers, the second those with odd ones.
llvm::SmallVector<Num> unpackRow(Writer &w, const FactorB &row, int64_t count);
/// The vectors of such a row with columns in order again.
llvm::SmallVector<Num> inOrder(Writer &w, llvm::ArrayRef<Num> row);

/// Reads terms of as many columns of B as a vector has lanes, where B is transposed: each column is
/// a row in memory. Words (i32) of several terms are transposed, as if they were numbers, and
/// unpacked when they are needed.
class PackedColumns {
public:
  PackedColumns(Writer &w, int64_t vectors);

  /// Terms of a step, at most a cache line of each row: all of one group.
  int64_t termsOfStep() const { return words * termsOfWord(); }
  int64_t termsOfWord() const { return 32 / w.held.bits(); }

  /// Reads the step's terms of vector `number`, whose columns begin at the places of `columns`.
  void read(int64_t number, llvm::ArrayRef<Index> columns, const FactorB &b);
  /// Scales and zero points of what was read, of each column one.
  struct Groups {
    Num scale;
    std::optional<Num> zero;
  };
  Groups groupsOf(llvm::ArrayRef<Index> columns, const FactorB &b);
  /// Term `term` of word `word` of a vector that was read.
  Num termOf(int64_t number, Index word, int64_t term, const Groups &groups);

private:
  Pointer wordAt(int64_t number, Index word);

  Writer &w;
  int64_t words; // of a row in a step
  Pointer panel; // [vectors][words][lanes]
};

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H
