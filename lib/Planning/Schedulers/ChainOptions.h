//===- ChainOptions.h - What each part of a chain may do ----------------------===//
//
// Per part of a chain a short list of options: which of its results are held for the backward, what
// that holds, what recomputing the rest costs, and how much the part's own forward and backward
// need while they run, beside what earlier parts hold. The choices of the cut relaxation,
// restricted to each part, are the options.
//
// They are measured, not modelled: every option is realized in all parts at once, and the profile
// read per part.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H

#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

namespace llmmem::planning {

struct PartOption {
  int64_t cost = 0;         // of what the part recomputes
  int64_t held = 0;         // bytes of the part's results held over the cut
  int64_t forwardPeak = 0;  // bytes while its forward runs, less what earlier parts hold
  int64_t backwardPeak = 0; // the same for its backward
};

struct ChainOptions {
  /// Per choice, per value: held over the cut.
  std::vector<std::vector<bool>> held;
  /// options[choice][part]
  std::vector<std::vector<PartOption>> options;
  /// Per part the choices worth trying there.
  std::vector<std::vector<int32_t>> useful;
  /// Values that may be discarded at all.
  std::vector<bool> subject;

  int32_t numChoices() const { return static_cast<int32_t>(held.size()); }
};

/// The op at whose run the forward is over: the one near the cut with most of what is saved among
/// its ancestors.
OpIndex findCutOp(const Graph &graph, const Chain &chain);

/// Choices from at most about `limit` minimum cuts and what lies between them. The first keeps
/// everything, the last the parts' inputs alone.
ChainOptions findOptions(const Graph &graph, const Chain &chain, size_t limit);

/// Realizes one option per part.
Realization realizeChoices(const Graph &graph, const Chain &chain, const ChainOptions &options,
                           llvm::ArrayRef<int32_t> choiceOfPart);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_CHAINOPTIONS_H
