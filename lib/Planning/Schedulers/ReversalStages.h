//===- ReversalStages.h - What each stage of a chain may do when it is reversed -----===//
//
// A chain is reversed by passes through its stages and by the segments of its backward, which
// follow in reverse. Stages are numbered from 1. *Boundary* i is what later stages read of stages 1
// to i, boundary 0 the inputs that stage 1 alone reads. Each run is a list of ops whose cost and
// peak are those of our own model: sizes aligned, results in place, workspaces.
//
// The peak of a run counts what its ops read and write, and what stays live after them. It omits
// what other stages hold meanwhile. A run of a segment counts the gradients and other values that
// are live there in every schedule, and a pass leaves them out (`extraBytes`).
//
// Example: F writes x1 from x0, and B reads x1 and a gradient. Stage 1 passes in |x0| + |x1| bytes,
// or in the larger of both where x1 takes the place of x0; its segment runs from boundary 1 alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALSTAGES_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALSTAGES_H

#include "llmmem/Planning/Model/Blocks.h"

namespace llmmem::planning {

/// Ops that run next to each other. The input is that of their stage.
struct StageRun {
  bool isPossible = true;  // false where an op would run again that may not, or lacks an operand
  bool needsInput = false; // whether the ops read the input
  int64_t cost = 0;        // the cost of what runs again
  int64_t peakKeeping = 0; // where the input is needed afterwards: it counts if `needsInput`
  int64_t peakTaking = 0;  // where it is not
  std::vector<OpIndex> ops;
};

/// A choice of what a stage holds from its forward to its backward.
struct StageSave {
  std::vector<ValueIndex> values; // without those of the boundary
  bool keepsBoundary = false;
  int64_t held = 0;      // bytes of `values`
  StageRun first, again; // the forward, the first time and again
  StageRun segment;
};

struct ReversalStage {
  std::vector<ValueIndex> boundary;
  int64_t boundaryBytes = 0;
  StageRun first, again; // the forward that saves nothing
  StageRun alone;        // the segment from the input alone
  std::vector<StageSave> saves;
  std::vector<int32_t> farSaves; // the choices that hold anything, with or without the input
  int64_t extraBytes = 0;        // live in every schedule before the segment
};

class ReversalStages {
public:
  /// The chain is that of ReversalChain.h.
  ReversalStages(const Graph &graph, const Chain &chain);

  int32_t count() const { return static_cast<int32_t>(stages.size()) - 1; }
  const ReversalStage &operator[](int32_t stage) const { return stages[stage]; }
  /// Says whether the graph is a chain to the byte: each op of the forward writes a state and at
  /// most one value more, which its own segment alone reads, and all other bytes depend on the
  /// segments alone. Else there are no choices.
  bool isExact() const { return exact; }
  /// Says whether a state that is dropped before its segment has run saves nothing
  /// (docs/Design/Planning.md, "Reversal"): all states have one size, each op of the forward writes
  /// its state alone, in place of the one before it, and each segment has one op, the loss aside.
  bool isUniform() const { return uniform; }
  /// Says whether boundary 0 is needed after all segments.
  bool keepsInput() const { return inputIsKept; }
  /// Returns the ops that follow all segments.
  const StageRun &tail() const { return tailRun; }
  /// Every long search over the stages calls this regularly.
  void poll() const { graph.poll(); }
  /// Returns, per stage, a number that stages of equal bytes and costs share.
  const std::vector<int32_t> &kinds() const { return kindOf; }

private:
  friend class StageBuilder;
  const Graph &graph;
  std::vector<ReversalStage> stages; // [0] has a boundary alone
  std::vector<int32_t> kindOf;
  StageRun tailRun;
  bool exact = true, uniform = false, inputIsKept = false;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_REVERSALSTAGES_H
