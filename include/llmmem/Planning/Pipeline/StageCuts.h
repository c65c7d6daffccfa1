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
  int64_t ns = 0;    // of forward and backward, modelled
  int64_t bytes = 0; // that its parameters hold on a rank, states and gradients included
};

/// The first block of each of `parts` parts of consecutive blocks, none of them empty; nothing
/// where there are fewer blocks than parts.
std::vector<int64_t> cutStages(llvm::ArrayRef<BlockSize> blocks, int64_t parts);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_STAGECUTS_H
