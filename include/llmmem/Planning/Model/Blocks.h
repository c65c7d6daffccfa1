//===- Blocks.h - A training step as a chain of stages ------------------------===//
//
// A training step is a chain of *stages*: its forward is cut into consecutive stages (the blocks,
// and the ops before and after them), and its backward visits the stages in reverse. A *segment* is
// a range of the order: segment 0 is the whole forward, the next ones are the backwards of the
// stages, last stage first, and the final one holds what follows them (updates). The planner takes
// decisions per stage and counts the held bytes per segment.
//
// Example: forward f0 f1 f2, backward b2 b1 b0: stages {f0} {f1} {f2}; segments {f0 f1 f2} {b2}
// {b1} {b0}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_BLOCKS_H
#define LLMMEM_PLANNING_MODEL_BLOCKS_H

#include "llmmem/Planning/Model/Schedule.h"
#include <memory>

namespace llmmem::planning {

struct FoundInCanonical;

struct Chain {
  std::vector<OpIndex> order; // every op once
  int32_t cut = 0;            // position of the first op after the forward
  int32_t numStages = 0;
  std::vector<int32_t> stageOf; // per op; -1 after the cut
  std::vector<bool> isBlock;    // per stage: a repeated block, not the ops around the blocks
  bool hasRepeats = false;      // the blocks are repeats of equal ops
  bool isOfGraph = false;       // found from the graph alone, without labels or the given order
  bool isGuess = false;         // no label, repeat or single crossing value marks where stages end
  bool isInTurn = false;        // the backward visits the stages in reverse, except for single ops
  std::vector<int32_t> segmentOf; // per position in `order`, never decreasing
  /// The chain that was found from the graph alone, which may be another one
  /// (Structure/StepChain.h).
  std::shared_ptr<const FoundInCanonical> foundInCanonical;

  int32_t numSegments() const { return numStages + 2; }
  /// Returns the segment in which the backward of `stage` runs.
  int32_t backwardSegment(int32_t stage) const { return numStages - stage; }
  int32_t numBlocks() const { return static_cast<int32_t>(llvm::count(isBlock, true)); }
};

/// Cuts `order` into a chain. The cuts follow the labels (phase, block) where the problem has them,
/// else the repeats of its ops' shapes, else the positions that few bytes cross. A problem without
/// any structure is one stage. `cut`, where the caller knows it, is the position of the first op
/// after the forward; labels take precedence over it.
Chain findChain(const Graph &graph, std::vector<OpIndex> order,
                std::optional<int32_t> cut = std::nullopt);

/// Describes the longest tandem repeat in a signature: `count` periods of `period` elements from
/// `start` on. Example: x a b a b a b y: start 1, period 2, count 3.
struct TandemRepeat {
  int32_t start = 0;
  int32_t period = 0;
  int32_t count = 0;
};
TandemRepeat findTandemRepeat(llvm::ArrayRef<uint64_t> signature);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_BLOCKS_H
