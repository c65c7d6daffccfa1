//===- PipelineTime.h - How long a pipeline takes, and how much of it is waiting -===//
//
// A task begins when its stage has ended the one before it, and what it reads has arrived. With
// equal costs and no time for messages, a stage of p waits while the others fill and drain, of m
// micro-batches with forward F, backward of inputs B and of weights W:
//
//   gpipe, 1f1b   (p - 1)(F + B + W)         a fraction (p - 1) / (m + p - 1) of the step
//   interleaved   (p - 1)(F + B + W) / v     where F, B, W are those of all v chunks of a stage
//   zero-bubble   (p - 1)(F + B - W)         (Qi et al. 2024, table 1, ZB-H1)
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PIPELINE_PIPELINETIME_H
#define LLMMEM_PLANNING_PIPELINE_PIPELINETIME_H

#include "llmmem/Planning/Pipeline/PipelineSchedule.h"

namespace llmmem::planning {

/// The cost of one chunk and one micro-batch, in ns.
struct ChunkCost {
  int64_t forward = 0;
  int64_t backward = 0; // cost of the gradient of its inputs
  int64_t weights = 0;
  int64_t message = 0; // message to the next chunk, and back for the gradient
};

/// Returns the cost of one task. `costs` holds the cost of each chunk.
int64_t costOf(const PipelineTask &task, const PipelineShape &shape,
               llvm::ArrayRef<ChunkCost> costs);

struct PipelineTime {
  int64_t ns = 0;            // time from the first task to the last
  std::vector<int64_t> busy; // busy time of each stage
  /// Returns the time that all stages wait, as a fraction of their whole time.
  double bubble() const;
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PIPELINE_PIPELINETIME_H
