//===- Matmuls.h - Matmuls of kernels -------------------------------------===//
//
//   C = scale * sum over t < terms of op(A_t) op(B_t) + initial
//
// In generated code every element of C is one chain of fused multiply-adds in f32 (f64 for f64),
// over `inner` from 0 up and then over the terms, beginning with 0, and is rounded once where it is
// stored. So bits depend neither on the sizes of blocks nor on threads nor on the machine. If C has
// no memory (`Buffer::access`), the epilogue in the same kernel gets each element, rounded in the
// same way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_MATMULS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_MATMULS_H

#include "Emitter/FewerBits.h"
#include <optional>
#include <variant>

namespace llmmem {

/// Describes a matrix inside a buffer, from element `begin` on: row-major, with rows `pitch`
/// elements apart.
struct Matrix {
  Buffer buffer;
  int64_t pitch = 0;
  bool transposed = false;
  std::optional<Index> begin = std::nullopt;
  /// Counts the elements to the matrix of the next matmul of a batch; 0 if all use the same matrix.
  int64_t stride = 0;
  /// Holds, for B alone, scales and zero points, where `buffer` has the bytes of elements in fewer
  /// bits.
  HeldBuffer held = {};

  bool isPacked() const { return held.isPacked(); }
};

//===----------------------------------------------------------------------===//
// Kinds of sums: a matmul is of one of them
//===----------------------------------------------------------------------===//

/// An element of C is its sum and, where `initial` has a buffer, that matrix's element: C itself
/// (an accumulator), or one row repeated (a bias) if its pitch is 0.
struct PlainSum {
  Matrix initial = {};
  /// Holds the number of blocks of a cluster that share its terms in equal parts of whole steps of
  /// 64, where wgmma multiplies: 1, 2 or 4. An element is the sum of the parts, added in pairs and
  /// then, if there are four, the pairs, whatever the tiles.
  int64_t clusterParts = 1;
};

/// Holds partial results of the softmax of C's rows, one for each tile of columns: element (row,
/// tile) of two buffers is the tile's largest element, as it is stored, and the sum of exp(element
/// - largest).
struct TileSoftmax {
  Buffer maxima, powers;
  Index begin;
  int64_t tiles; // Those of a row.
};

/// C are logits. Its rows may be written up to a column after `columns`, which is not read, so
/// tiles at the end of a row are stored as all others are. Their softmax is written together with C
/// if `makesTileSoftmax`.
struct LogitSum {
  int64_t writableColumns = 0;
  std::optional<TileSoftmax> softmax = std::nullopt;
};

/// Holds what an element's chain begins with instead of 0, in f32 and on tensor cores alone: a sum
/// that several launches continue has the bits of one. It may lie where C does.
struct ContinuedSum {
  Matrix from;
};

/// On tensor cores, this sums `inner` terms of a sum of `allTerms`, from `firstTerm` on. A and B
/// have lines of terms, and begin that many lines after the matrices of the whole.
struct PartOfSum {
  Index firstTerm;
  int64_t allTerms = 0;
  /// Says how many of the `inner` terms there are, because the last part may have fewer. None means
  /// all.
  std::optional<Index> innerBound = std::nullopt;
};

/// A tile that has only zero rows need not read B; only generated code uses this. It says for each
/// row of A whether it has something: element `begin` + row of `numbers` (i32) is -1 where the row
/// is zeros. C's row is then zeros, too, whatever is in B. The matmul has one term.
struct RowChoices {
  Buffer numbers;
  std::optional<Index> begin = std::nullopt;
  /// For reports, gives the largest share of matmuls that have other rows than zeros, where most
  /// may have zeros alone.
  double share = 1.0;
};

using SumKind = std::variant<PlainSum, LogitSum, ContinuedSum, PartOfSum, RowChoices>;

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// A_t and B_t begin t * `stepA` and t * `stepB` elements after A and B.
struct SumTerms {
  int64_t count = 1, stepA = 0, stepB = 0;
};

/// Count the rows for which tiles, and instructions, are chosen instead of a matmul's own rows; 0
/// means its own.
struct ChosenRows {
  /// Applies where matmuls of several sizes must sum a softmax in one order.
  int64_t ofTiles = 0;
  /// Applies where matmuls of several sizes, the last one as short as may be, must give the bits of
  /// one.
  int64_t ofInstructions = 0;
};

struct Matmul {
  Matrix a, b, c;
  int64_t rows, columns, inner;
  double scale = 1.0;
  SumTerms terms = {};
  /// Counts the matmuls that a library computes in one call.
  int64_t batch = 1;
  ChosenRows chosen = {};
  /// For a packed B of integers, rounds the factors of its numbers to i8 in groups of this number
  /// of terms, as llm.linear's `activation_group` says. None means that they are not rounded.
  std::optional<int64_t> activationGroup = std::nullopt;
  SumKind kind = PlainSum();

  /// Return what `kind` holds: nothing, and matrices without a buffer, where it is another kind.
  Matrix initial() const { return as<PlainSum>() ? as<PlainSum>()->initial : Matrix(); }
  int64_t clusterParts() const { return as<PlainSum>() ? as<PlainSum>()->clusterParts : 1; }
  Matrix continued() const { return as<ContinuedSum>() ? as<ContinuedSum>()->from : Matrix(); }
  const TileSoftmax *softmax() const {
    const LogitSum *logits = as<LogitSum>();
    return logits && logits->softmax ? &*logits->softmax : nullptr;
  }
  const PartOfSum *part() const { return as<PartOfSum>(); }
  const RowChoices *choices() const { return as<RowChoices>(); }
  /// Returns the column up to which C's rows may be written.
  int64_t writableColumns() const {
    return as<LogitSum>() ? std::max(columns, as<LogitSum>()->writableColumns) : columns;
  }
  std::optional<Index> firstTerm() const {
    return part() ? std::optional(part()->firstTerm) : std::nullopt;
  }
  std::optional<Index> innerBound() const { return part() ? part()->innerBound : std::nullopt; }

  template <typename Kind>
  const Kind *as() const {
    return std::get_if<Kind>(&kind);
  }
};

/// Returns whether a library computes matmuls of `element`. Libraries and generated code round
/// differently, so the answer is the same for all matmuls of a step, with and without an epilogue.
bool isMultipliedByLibrary(const KernelOptions &options, mlir::Type element);

/// Emits the matmul into the kernel of `op`: a call of the library if `isMultipliedByLibrary` and C
/// has memory, else generated code.
void emitMatmul(mlir::Operation *op, KernelEmitter &e, const Matmul &matmul);

/// Emits the matmuls make(0), ..., make(count - 1), of equal sizes and strides, as iterations of a
/// parallel loop. On a CPU, those of bf16 are generated code.
void emitMatmuls(mlir::Operation *op, KernelEmitter &e, int64_t count,
                 llvm::function_ref<Matmul(Index number)> make);

/// Emits them as one launch of a GPU; `first` is one of them.
void emitDeviceMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                       llvm::function_ref<Matmul(Index number)> make);

/// Returns whether generated code computes the matmul tile by tile with whole rows of a tile in one
/// block, so that it can also compute `TileSoftmax`.
bool makesTileSoftmax(KernelEmitter &e, const Matmul &matmul);

/// Returns whether the options ask for cuBLASLt and it can compute the matmul.
bool isLibraryMatmul(KernelEmitter &e, const Matmul &matmul);

/// Emits the matmul (or batch of them) as an `llm.library_product` of a host function, for
/// cuBLASLt.
void emitLibraryMatmul(KernelEmitter &e, const Matmul &matmul);

/// Emits it as generated code: calls of functions of the module that all matmuls of one type share.
void emitGeneratedMatmul(mlir::Operation *op, KernelEmitter &e, const Matmul &matmul);

/// Returns the address of a matrix's first element; null if there is none.
mlir::Value addressOf(mlir::Operation *op, KernelEmitter &e, const Matrix &matrix);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_MATMULS_H
