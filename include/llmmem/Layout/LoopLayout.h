//===- LoopLayout.h - Where the values of a loop's body lie ----------------===//
//
// A loop is one op of a step. The values that it carries lie in the bytes of its results.
// Everything else that one iteration computes lies in scratch bytes, which are the loop's
// workspace. The order in a body is that of its text, so the places are known before any plan is
// made.
//
// Example: `scf.for %i = ... iter_args(%acc = %x) { %t = linalg.matmul ins(%acc, %w) outs(%e); %n =
// linalg.exp ins(%t) outs(%acc); yield %n }`: %acc and %n lie in the result's bytes, %t in scratch.
// Yielding %t instead costs a copy into the result's bytes at the end of each iteration.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LAYOUT_LOOPLAYOUT_H
#define LLMMEM_LAYOUT_LOOPLAYOUT_H

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

/// Returns whether result `number` of `loop` equals its initial value because no iteration changes
/// it.
bool isCarriedUnchanged(mlir::LoopLikeOpInterface loop, unsigned number);

/// Places all tensors that one iteration of a loop computes, each at the first free place, the
/// largest first. Equal loops have equal layouts.
class LoopLayout {
public:
  /// A place is in the bytes of a result of the loop, or at an offset of its scratch bytes.
  struct LoopPlace {
    std::optional<unsigned> carried;
    int64_t offset = 0;
  };

  /// Describes a value for the next iteration that lies elsewhere than in the bytes that carry it.
  /// Those in each other's bytes go by way of scratch bytes, all of them before the first of the
  /// others.
  struct Copy {
    unsigned carried;
    std::optional<int64_t> by;
  };

  /// Requires that `loop` has one block, and carries by values.
  explicit LoopLayout(mlir::LoopLikeOpInterface loop);

  /// Returns the scratch bytes of one iteration; -1 for more than 2^63.
  int64_t getBytes() const { return bytes; }

  /// Returns the places of what the ops of the body write; views have none.
  const llvm::DenseMap<mlir::Value, LoopPlace> &getPlaces() const { return places; }

  /// Returns where the scratch bytes of an op of the body begin, if it needs some.
  int64_t getScratch(mlir::Operation *op) const { return scratch.lookup(op); }

  llvm::ArrayRef<Copy> getCopies() const { return copies; }

  /// Returns the bytes that the copies of one iteration read and write.
  int64_t getBytesCopied() const;

private:
  /// Describes a range of scratch bytes that is held from one op to another.
  struct Buffer {
    int64_t bytes, first, last;
    int64_t offset = 0;
  };

  void findLastReads();
  bool fits(mlir::OpResult result, mlir::Value source, int64_t position) const;
  static bool hasPlace(mlir::OpResult result);
  void takeOver(mlir::Operation &op, int64_t position);
  void visit(mlir::Operation &op, int64_t position);
  void findCopies();
  void pack();
  unsigned addBuffer(int64_t bytes, int64_t first, int64_t last);

  mlir::LoopLikeOpInterface loop;
  mlir::Block &body;
  int64_t bytes = 0, end = 0;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Copy> copies;
  llvm::DenseMap<mlir::Value, int64_t> lastRead;
  llvm::DenseMap<mlir::Value, LoopPlace> places;
  llvm::DenseMap<mlir::Operation *, int64_t> scratch;
  // Holds numbers of buffers, until their offsets are known.
  llvm::DenseMap<mlir::Value, unsigned> bufferOf;
  llvm::DenseMap<mlir::Operation *, unsigned> scratchOf;
  llvm::DenseMap<unsigned, unsigned> wayOf; // Maps a carried value to its buffer.
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_LOOPLAYOUT_H
