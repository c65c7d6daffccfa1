//===- StageCuts.h - Where a model is cut into the stages of a pipeline ---------===//
//
// The slowest stage sets the pace of a pipeline, so the cut makes the most expensive part as cheap
// as it can be, and among such cuts the largest part as small as it can be. Example: blocks of cost
// 1 1 1 1 2 in two parts: 1 1 1 | 1 2.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PIPELINE_STAGECUTS_H
#define LLMMEM_PLANNING_PIPELINE_STAGECUTS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace llmmem::planning {

struct BlockSize {
  int64_t ns = 0;    // modelled time of forward and backward
  int64_t bytes = 0; // what its parameters hold on a rank, states and gradients included
};

/// Returns the first block of each part of consecutive blocks, none of which is empty, or nothing
/// where there are fewer blocks than parts. `blocks[k]` are all blocks as the device of part k runs
/// them, which has `memory[k]` bytes. First no part may hold more than its memory, or it exceeds it
/// by as little as possible; then the slowest part is as fast as possible.
/// Example: 3 blocks of 2 ns on one device and of 1 ns on another: 1 and 2 blocks, 2 ns each.
std::vector<int64_t> cutStages(llvm::ArrayRef<std::vector<BlockSize>> blocks,
                               llvm::ArrayRef<int64_t> memory);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_STAGECUTS_H
