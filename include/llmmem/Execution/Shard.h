//===- Shard.h - The part of a whole that a rank holds ---------------------===//
//
// A value may be split twice: dimension by dimension (`llm.sharding`), each into equal parts, and
// what that leaves of it into equal parts of its elements in row-major order (`llm.shard`). Parts
// are those of the positions in the group of all axes, and a rank's elements are runs of
// neighbours in the whole (docs/Design/Ranks.md).
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
  /// What an axis of the mesh splits.
  struct Axis {
    int64_t ranks = 1;
    int64_t dimension = -1; // -1: the elements of what dimensions leave, in row-major order
  };
  /// Neighbours in the whole that are neighbours in the part.
  struct Run {
    int64_t whole = 0, part = 0, count = 0; // the numbers of their first elements
  };

  int64_t axes = 0;   // the bits of the axes; 0: the whole
  int64_t parts = 1;  // ranks in a group of them
  int64_t stages = 0; // the bits of the axis whose ranks have other values; 0: all have this one
  int64_t server = 0; // the bits of axes of whose position 0 alone has its part; 0: all have theirs
  /// The axes in the mesh's order, so that a position counts them row-major.
  llvm::SmallVector<Axis, 2> split;
  llvm::SmallVector<int64_t, 4> shape; // of the whole
  /// For each dimension the sizes of what lies side by side in it, each split by itself; empty for
  /// one.
  llvm::SmallVector<llvm::SmallVector<int64_t, 0>, 4> pieces;

  /// Of this rank, from 0.
  int64_t position() const;
  /// Whether this rank has its part: all but a server's have nothing of what the server has.
  bool isHere() const;
  /// Calls `body` with the runs of a position, in the order of its part. Padding is in none.
  void forEachRun(int64_t position, llvm::function_ref<void(Run)> body) const;
  /// Elements of the part, with padding, and of the whole.
  int64_t partElements() const;
  int64_t wholeElements() const;
  /// Whether the parts lie one behind the other in the whole, without padding.
  bool areInOrder() const;

  /// The whole's bytes, of this rank's `part` and those of its group. All of the group call it.
  std::vector<char> gather(llvm::ArrayRef<char> part) const;
  /// The bytes of a position's part, of those of the whole.
  std::vector<char> take(int64_t position, llvm::StringRef whole) const;

  /// The split in a line, as checkpoints have it: "2@1:768+768+768 4@-" is over 2 ranks along
  /// dimension 1 in three pieces, then over 4 in row-major order.
  std::string toText() const;
  /// The other way, for a tensor of `shape`. Fails at what is no such text.
  static llvm::Expected<Shard> parse(llvm::StringRef text, llvm::ArrayRef<int64_t> shape);

private:
  llvm::SmallVector<int64_t, 4> shardShape() const;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SHARD_H
