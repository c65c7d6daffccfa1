//===- PipelineTime.cpp - How long a pipeline takes -----------------------------===//

#include "llmmem/Planning/Pipeline/PipelineTime.h"

using namespace llmmem::planning;

double PipelineTime::bubble() const {
  int64_t sum = 0;
  for (int64_t stage : busy)
    sum += stage;
  double all = static_cast<double>(ns) * static_cast<double>(busy.size());
  return all > 0 ? 1.0 - static_cast<double>(sum) / all : 0.0;
}

int64_t llmmem::planning::costOf(const PipelineTask &task, const PipelineShape &shape,
                                 llvm::ArrayRef<ChunkCost> costs) {
  const ChunkCost &cost = costs[task.chunk];
  switch (task.kind) {
  case TaskKind::Forward:
    return cost.forward;
  case TaskKind::Backward:
    return cost.backward + (shape.splitsBackward() ? 0 : cost.weights);
  case TaskKind::WeightGradient:
    return cost.weights;
  }
  return 0;
}
