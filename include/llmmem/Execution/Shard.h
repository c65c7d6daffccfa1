//===- Shard.h - The part of a whole that a rank holds ---------------------===//
//
// A value that is split over axes of the mesh has equal parts in row-major order of its elements,
// one for each position in the group of those axes (docs/Design/Ranks.md). 768 x 3072 elements over
// 4 ranks: position 2 holds the elements from 1,179,648 to 1,769,471, which are rows 384 to 575.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_SHARD_H
#define LLMMEM_EXECUTION_SHARD_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace llmmem {

struct Shard {
  int64_t axes = 0;   // the bits of the axes; 0: the whole
  int64_t parts = 1;  // ranks in a group of them
  int64_t stages = 0; // the bits of the axis whose ranks have other values; 0: all have this one

  /// Of this rank, from 0.
  int64_t position() const;
  /// The whole's bytes, of this rank's `part` and those of its group. All of the group call it.
  std::vector<char> gather(llvm::ArrayRef<char> part) const;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SHARD_H
