//===- StageProblem.h - A stage of a pipeline, whose micro-batches overlap --------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_STAGEPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_STAGEPROBLEM_H

#include "ProblemBuilder.h"

namespace llmmem::planning::test {

/// `inFlight` forwards run before the first backward. `outer` and `inner` are the bytes of what
/// blocks read and of what lies between the two ops of a block, each of which has `cost`.
struct ChainedStage {
  int64_t microBatches, inFlight, blocks, outer, inner, cost;
};

/// Makes a stage of two ops a block, whose backward reads what is between the two and the block's
/// input. The exchange after the forward sends what the last block gives.
inline Problem makeChainedStage(const ChainedStage &shape) {
  ProblemBuilder build;
  std::vector<std::vector<ValueIndex>> inner(shape.microBatches), outer(shape.microBatches);
  auto add = [&](int64_t number, Phase phase, int64_t block, std::vector<ValueIndex> reads,
                 std::vector<ValueIndex> writes) {
    build.op(std::move(reads), std::move(writes), shape.cost);
    Op &op = build.problem.ops.back();
    op.phase = phase;
    op.block = block;
    op.microBatch = number;
  };
  auto exchange = [&](std::vector<ValueIndex> sends, std::vector<ValueIndex> receives) {
    build.op(std::move(sends), std::move(receives), 0);
    build.problem.ops.back().recompute = false;
  };
  auto forward = [&](int64_t number) {
    outer[number].push_back(build.value(shape.outer));
    exchange({}, outer[number]);
    for (int64_t block = 0; block < shape.blocks; ++block) {
      inner[number].push_back(build.value(shape.inner));
      add(number, Phase::Forward, block, {outer[number].back()}, {inner[number].back()});
      outer[number].push_back(build.value(shape.outer));
      add(number, Phase::Forward, block, {inner[number].back()}, {outer[number].back()});
    }
  };
  auto backward = [&](int64_t number) {
    ValueIndex gradient = build.value(shape.outer);
    exchange({outer[number].back()}, {gradient});
    for (int64_t block = shape.blocks; block-- > 0;) {
      const ValueIndex next = build.value(shape.outer);
      add(number, Phase::Backward, block, {inner[number][block], outer[number][block], gradient},
          {next});
      gradient = next;
    }
    exchange({gradient}, {});
  };
  for (int64_t number = 0; number < shape.microBatches + shape.inFlight; ++number) {
    if (number >= shape.inFlight)
      backward(number - shape.inFlight);
    if (number < shape.microBatches)
      forward(number);
  }
  return build.problem;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_STAGEPROBLEM_H
