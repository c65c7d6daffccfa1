//===- Shard.h - The part of a whole that a rank holds ---------------------===//
//
// A value may be split twice: first by dimensions (`llm.sharding`), each into equal parts, and then
// the remaining elements into equal parts in row-major order (`llm.shard`). Parts follow the
// positions in the group of all axes, and a rank's elements are runs of neighbours in the whole
// value (docs/Design/Ranks.md).
//
// Examples, of 768 x 2304 elements over 4 ranks:
//   row-major order             position 2 holds the elements from 884,736 to 1,327,103
//   dimension 1                 position 2 holds 768 runs, the columns 1152 to 1727
//   dimension 1 in 3 pieces     position 2 holds 2304 runs: its columns of each piece of 768
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_SHARD_H
#define LLMMEM_EXECUTION_SHARD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llmmem {

struct Shard {
  /// Says what an axis of the mesh splits.
  struct Axis {
    int64_t ranks = 1;
    int64_t dimension = -1; // The value -1 means the elements that dimensions leave, in row-major
                            // order.
  };
  /// Describes a run of elements that are neighbours in the whole value and in the part.
  struct Run {
    int64_t whole = 0, part = 0, count = 0; // The numbers of their first elements.
  };

  int64_t axes = 0;   // The bits of the axes; 0 means unsharded.
  int64_t parts = 1;  // The ranks in a group of them.
  int64_t stages = 0; // The bit of the axis whose ranks have other values; 0 means that all have
                      // this one.
  int64_t server = 0; // The bits of axes at whose position 0 alone the part exists; 0 means that
                      // all ranks have theirs.
  /// Lists the axes in the mesh's order, so that positions are row-major.
  llvm::SmallVector<Axis, 2> split = {};
  llvm::SmallVector<int64_t, 4> shape = {}; // The shape of the whole value.
  /// Holds for each dimension the sizes of its pieces, each of which is split separately; empty
  /// means one piece.
  llvm::SmallVector<llvm::SmallVector<int64_t, 0>, 4> pieces = {};

  int64_t position() const;
  /// Returns whether this rank has its part. Where a server has the value, the other ranks have
  /// nothing of it.
  bool isHere() const;
  /// Calls `body` with the runs of a position, in the order of its part. Padding is in no run.
  void forEachRun(int64_t position, llvm::function_ref<void(Run)> body) const;
  /// Return the elements of the part, with padding, and of the whole value.
  int64_t partElements() const;
  int64_t wholeElements() const;
  /// Returns whether the parts are consecutive in the whole value, without padding.
  bool areInOrder() const;

  /// Returns the whole value's bytes, from this rank's `part` and those of its group. All of the
  /// group call it.
  std::vector<char> gather(llvm::ArrayRef<char> part) const;
  /// Returns the bytes of a position's part, from those of the whole value.
  std::vector<char> take(int64_t position, llvm::StringRef whole) const;

  /// Returns the split as a line, as checkpoints store it: "2@1:768+768+768 4@-" splits over 2
  /// ranks along dimension 1 in three pieces, then over 4 in row-major order.
  std::string toText() const;
  /// Parses such a line for a tensor of `shape`. Fails where the text is invalid.
  static llvm::Expected<Shard> parse(llvm::StringRef text, llvm::ArrayRef<int64_t> shape);

private:
  llvm::SmallVector<int64_t, 4> shardShape() const;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SHARD_H
