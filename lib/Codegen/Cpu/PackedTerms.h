//===- PackedTerms.h - Terms of a product by a packed B -------------------===//
//
// Provides what a narrow matmul (NarrowMatmul.h) multiplies where B has fewer bits: vectors of
// neighbouring columns, unpacked in registers from bytes that are read once. Elements are those of
// `FactorB::load`, so bits do not depend on how they were read.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H
#define LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H

#include "FactorB.h"

namespace llmmem::gemm {

/// Four i4 in the lower half of a word become numbers in place, each by one `and`:
///
///   a word with exponents   0x4F00 d c b a
///   its number 0            0x4B00 0 0 0 a   2^23 + a
///   its number 1            0x4900 0 0 b 0   2^19 + b
///   its numbers 2 and 3                      2^15 + c, 2^11 + d
///
/// This works because the bits of 0x4F00 contain those of the four exponents. An element is then
/// exact less the same power of two plus its zero point.
class NibbleNumbers {
public:
  static constexpr int64_t kOfHalf = 4;

  /// Its data is put on the stack at the beginning of a function.
  explicit NibbleNumbers(Writer &w);

  /// Sets the exponents in words (as many as a vector has lanes, or half as many) whose upper
  /// halves are 0.
  mlir::Value withExponents(mlir::Value words);
  /// Returns number `place` of words with exponents, plus its power of two.
  Num numberOf(mlir::Value words, int64_t place);
  /// Returns the mask of `place`: it selects numbers `place` of half a vector of words, and after
  /// them numbers `place + 1`. A mask is read where it is needed, because keeping all of them would
  /// take registers from the sums.
  mlir::Value maskOfPair(int64_t place);
  Num pairOf(mlir::Value words, mlir::Value mask);

  /// Return what is subtracted from these: for zero points in the lowest bits of words, and for
  /// one.
  Num zeroOf(mlir::Value words, int64_t place);
  Num pairOfZero(mlir::Value word, int64_t place);

private:
  Num asNumbers(mlir::Value words);
  Pointer maskAt(int64_t place);

  Writer &w;
  Pointer table; // [places][16] of zero points.
  Pointer masks; // [pairs][lanes].
  mlir::Value exponents;
};

/// Reads rows of a B that is not transposed.
class PackedRows {
public:
  explicit PackedRows(Writer &w);

  /// Returns the vectors that are unpacked together: for i4 two.
  static int64_t vectorsTogether(const PackedFormat &format);
  /// Gives `count` vectors of a row, from a multiple of their elements on, with their numbers, one
  /// after the other, because having all of them at a time would take registers from the sums. For
  /// i4, two vectors have their columns in the order of `inOrder`.
  using Take = llvm::function_ref<void(int64_t number, Num vector)>;
  void unpack(const FactorB &row, int64_t count, Take take);
  /// Returns the vectors of such a row with columns in order again.
  llvm::SmallVector<Num> inOrder(llvm::ArrayRef<Num> row);

private:
  void unpackNibbles(const FactorB &row, int64_t first, int64_t count, Take take);

  Writer &w;
  std::optional<NibbleNumbers> nibbles;
};

/// Reads terms of as many columns of B as a vector has lanes, where B is transposed: each column is
/// a row in memory. What a step reads of each is transposed in registers as it is stored, in bytes
/// or for i4 in words of eight numbers, and widened when it is needed.
class PackedColumns {
public:
  PackedColumns(Writer &w, int64_t vectors);

  /// Returns the terms of a step, at most a cache line of each row: all in one group.
  int64_t termsOfStep() const { return words * termsOfWord(); }
  int64_t termsOfWord() const { return 32 / w.held.bits(); }

  /// Says where as many columns as a vector has lanes begin: each `rows` pitches, whole groups,
  /// after the first.
  struct Places {
    FactorB first;
    llvm::ArrayRef<Index> rows;
    Index pitch;
  };
  /// Reads the step's terms of vector `number`.
  void read(int64_t number, const Places &places);
  /// Holds the scales and zero points of the group that contains the places, one for each column.
  struct Groups {
    Num scale;
    llvm::SmallVector<Num, NibbleNumbers::kOfHalf> zeros; // For each place in half a word.
  };
  Groups groupsOf(const Places &places);
  /// Holds terms `termsOfWord() * word` and its neighbours of a vector that was read: the bytes of
  /// each, or for i4 two halves of words with exponents.
  using Word = llvm::SmallVector<mlir::Value, 4>;
  Word wordOf(int64_t number, Index word);
  Num termOf(const Word &word, int64_t term, const Groups &groups);

private:
  void readWords(int64_t number, const Places &places);
  void readBytes(int64_t number, const Places &places);
  Pointer wordAt(int64_t number, Index word);

  Writer &w;
  std::optional<NibbleNumbers> nibbles;
  int64_t words; // Words of a row in a step.
  Pointer panel; // [vectors][words][lanes], with bytes in the order of `readBytes`.
};

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_PACKEDTERMS_H
