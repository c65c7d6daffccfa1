//===- ChainOptions.h - The options of each stage of a chain -----------------===//
//
// Each stage of a chain has a short list of options. An option states which results of the stage
// are held for the backward, their bytes, the cost of recomputing the other results, and the peaks
// of the stage's own forward and backward without what earlier stages hold. The options are the
// choices of the cut relaxation, restricted to each stage.
//
// The options are measured, not modelled: every choice is realized in all stages at once, and the
// profile of that schedule is read per stage.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H

#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

namespace llmmem::planning {

struct StageOption {
  int64_t cost = 0;         // cost of what the stage recomputes
  int64_t held = 0;         // bytes of the stage's results held over the cut
  int64_t forwardPeak = 0;  // bytes while its forward runs, less what earlier stages hold
  int64_t backwardPeak = 0; // the same for its backward
};

struct ChainOptions {
  /// Says, per choice and value, whether the value is held over the cut.
  std::vector<std::vector<bool>> held;
  /// Indexed as options[choice][stage].
  std::vector<std::vector<StageOption>> options;
  /// Holds per stage the choices that no other dominates there.
  std::vector<std::vector<int32_t>> useful;
  /// Says which values may be discarded at all.
  std::vector<bool> subject;

  int32_t numChoices() const { return static_cast<int32_t>(held.size()); }
};

/// Returns the op at which the forward ends. Among the ops near the cut, it is the one with the
/// most saved bytes written by its ancestors and read by its descendants.
OpIndex findCutOp(const Graph &graph, const Chain &chain);

/// Returns the choices of at most about `limit` minimum cuts, and mixtures of neighbouring ones.
/// The first keeps everything, the last only the inputs of the stages.
ChainOptions findOptions(const Graph &graph, const Chain &chain, size_t limit);

/// Realizes one option per stage.
Realization realizeChoices(const Graph &graph, const Chain &chain, const ChainOptions &options,
                           llvm::ArrayRef<int32_t> choiceOfStage);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H
