//===- Philox.h - Random numbers without a state --------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_PHILOX_H
#define LLMMEM_LIB_CODEGEN_EMITTER_PHILOX_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace llmmem {

/// Samples by Philox4x32-10 (Salmon et al. 2011), keyed by the first two words of a seed buffer.
/// Element i of the op's stream is word i mod 4 of the block with counter (i / 4, stream), two
/// little-endian numbers of 64 bits.
class Philox {
public:
  /// Reads the seed and, where the elements are the part of a rank or of a micro-batch, their
  /// positions, at the emitter's insertion point.
  Philox(KernelEmitter &emitter, Buffer seed);

  /// Returns for each of `lanes` elements, `step` apart from `first` on, whether u >= p, where u =
  /// word / 2^32.
  mlir::Value keeps(Index first, unsigned lanes, double p, int64_t step = 1);

  /// Returns the four words of the block with this counter under this key, each a word in 64 bits
  /// (or a vector of them).
  static std::array<mlir::Value, 4> blockOf(mlir::OpBuilder &builder,
                                            std::array<mlir::Value, 4> counter,
                                            std::array<mlir::Value, 2> key);

private:
  /// Returns the four words of each block, in 64 bits each.
  std::array<mlir::Value, 4> wordsOf(mlir::Value block);
  mlir::Value keepsApart(mlir::Value element, double p);
  mlir::Value keepsTogether(Index first, unsigned lanes, double p);

  KernelEmitter &e;
  /// Return the number in the unsharded value of an element of this rank's part, and of each lane.
  Index numberInWhole(Index element);
  mlir::Value numbersInWhole(Index first, unsigned lanes, int64_t step);
  /// Returns whether the numbers of a vector are as far apart in the unsharded value as in the
  /// part.
  bool areNeighbours(unsigned lanes) const;

  /// Describes a dimension of a part, up to the last one that is split.
  struct Dimension {
    int64_t size, ranks;
    Index position; // Null where it is unsharded.
  };
  /// Empty where this rank has the unsharded value.
  llvm::SmallVector<Dimension> dimensions;
  /// Counts the elements of the dimensions after those: they are neighbours in the unsharded value,
  /// too.
  int64_t inner = 1;
  mlir::Value seed[2], stream;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_PHILOX_H
