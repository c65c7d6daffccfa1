//===- StageValues.h - The part that each value has in a chain -----------------------===//
//
// Divides the values of a chain. Those that forwards compute again are in the boundaries of some
// stages, or are saved by one stage for its own segment. All others are *extra*: gradients, what
// the end keeps, and what many stages read. They are never recomputed, and how long they live
// depends on the segments alone.
//
// Example: x1 = F1(x0), x2 = F2(x1, mask), B2 reads x1 and a gradient: x1 is boundary 1, mask and
// the gradient are extra.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_STAGEVALUES_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_STAGEVALUES_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

class StageValues {
public:
  StageValues(const Graph &graph, const Chain &chain);

  /// Returns the stage of a forward op, from 1, and 0 for an op of the backward.
  int32_t stageOf(OpIndex op) const { return chain.stageOf[op] + 1; }
  /// Returns the segment in which an op of the backward runs: 1 is that of the last stage, and
  /// `lastSegment()` follows all stages.
  int32_t segmentOf(OpIndex op) const { return segmentOfOp[op]; }
  int32_t segmentOfStage(int32_t stage) const { return numStages + 1 - stage; }
  int32_t lastSegment() const { return numStages + 1; }

  /// Returns the extra bytes that are live between two segments, just before `segment`.
  int64_t extraBytesBefore(int32_t segment) const { return extraBytes[segment]; }
  /// Says whether an extra value is live after a segment.
  bool isLiveAfter(ValueIndex value, int32_t segment) const {
    return birth[value] <= segment && death[value] > segment;
  }

  std::vector<bool> isExtra;                     // per value
  std::vector<std::vector<ValueIndex>> boundary; // per stage, from 0
  std::vector<std::vector<ValueIndex>> saved;    // per stage: what only its own segment reads
  bool hasForeign = false;                       // a forward value or an input with bytes is extra
  bool keepsInput = false;                       // boundary 0 is needed after all segments

private:
  void readInput(ValueIndex value);
  void readForwardValue(ValueIndex value);
  void addExtra(ValueIndex value, int32_t from);
  bool isReadInTurn(ValueIndex value, int32_t stage, int32_t lastReader) const;
  void endLastStage();

  const Graph &graph;
  const Chain &chain;
  int32_t numStages;
  std::vector<int32_t> segmentOfOp, birth, death; // the last two: per value, in segments
  std::vector<int64_t> extraBytes;                // per segment
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_STAGEVALUES_H
