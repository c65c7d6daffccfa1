//===- Strategy.h - The ways to run a step on a number of devices ----------===//
//
// A strategy is what a user would write in and next to `--mesh`: how many ranks share the batch
// (dp), the heads, widths and vocabulary (tp), the blocks (pp), the batch and experts (ep) and each
// sequence (cp); what ZeRO splits over dp, ep and cp; the number of micro-batches; and the order in
// which stages run them.
//
// Example: with 8 devices and a batch of 4 sequences, pp=2,dp=2,tp=2 has 1 or 2 micro-batches. dp=8
// is refused, because 8 ranks do not divide 4 sequences. Sequences are split where there are fewer
// of them than ranks of dp and cp: dp=4,cp=2 is enumerated, and dp=2,cp=2 is not, as dp=4 has as
// few tokens a rank and exchanges nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_STRATEGY_H
#define LLMMEM_STRATEGIES_STRATEGY_H

#include "llmmem/Planning/Pipeline/PipelineSchedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llmmem {

struct Strategy {
  int64_t pp = 1, dp = 1, tp = 1, ep = 1, cp = 1;
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  int64_t microBatches = 1;
  planning::PipelineKind schedule = planning::PipelineKind::OneForwardOneBackward;
  int64_t chunks = 1; // The number of chunks of a stage.
  /// Holds one bit for each group of parameters that tp leaves unsharded (Layouts.h). No flag sets
  /// it.
  uint32_t whole = 0;

  int64_t numDevices() const { return pp * ranksOfStage(); }
  int64_t ranksOfStage() const { return batchRanks() * tp * cp; }
  /// Returns the number of ranks that have parts of the batch.
  int64_t batchRanks() const { return dp * ep; }
  /// Returns the number of ranks that have copies of what belongs to no expert.
  int64_t copies() const { return batchRanks() * cp; }
  /// Returns how many groups of several ranks a rank is in. There is one along each set of axes
  /// (`open_groups` of lib/Runtime), so three axes of several ranks have seven.
  int64_t numGroups() const {
    const int64_t axes = (pp > 1) + (dp > 1) + (tp > 1) + (ep > 1) + (cp > 1);
    return (int64_t(1) << axes) - 1;
  }
  planning::PipelineShape shape() const { return {schedule, pp, microBatches, chunks}; }
  /// Returns the mesh, such as `pp=2,dp=4`: without axes of one rank, the fastest axis last, so
  /// that ranks that communicate most are closest. Returns `dp=1` where all axes have one rank.
  std::string mesh() const;
  /// Returns the flags of llmmem-opt that mean this strategy.
  std::string flags() const;

  auto operator<=>(const Strategy &other) const = default;
};

/// Holds the properties of a model that decide which strategies exist.
struct ModelFacts {
  int64_t batch = 0;   // The number of sequences of a step over all ranks.
  int64_t blocks = 0;  // The number of equal groups of blocks (EqualBlocks.h).
  int64_t period = 1;  // The number of blocks in a group.
  int64_t all = 0;     // The number of blocks, those of no group included.
  int64_t experts = 0; // What ep may divide; 0 where there are none (Parallelize.h).
  int64_t seq = 1;     // The tokens of a sequence; 1 where inputs are no sequences.

  /// Returns whether stages may be cut where no group begins.
  bool hasCutsWithinGroups() const { return blocks != all; }
};

/// Holds what the user has already decided.
struct StrategyPins {
  std::optional<int64_t> zeroStage, microBatches, chunks;
  std::optional<bool> sequenceParallel;
  std::optional<planning::PipelineKind> schedule;
};

/// Maps each reason why strategies are excluded to the number of strategies.
using Refusals = std::map<std::string, int64_t>;

struct Enumeration {
  std::vector<Strategy> strategies; // In increasing order, so that the simplest of equal ones
                                    // comes first.
  Refusals refused;
  bool leavesOut = false; // Some mesh has more stages than groups, though no more than blocks.
};

/// Enumerates the strategies for a number of devices. `refuse` says why a strategy cannot be built,
/// or nothing; it is asked once the divisors are known. A reason counts once per mesh, or once per
/// strategy where it concerns that strategy alone.
Enumeration
enumerateStrategies(const ModelFacts &model, int64_t devices, const StrategyPins &pins,
                    llvm::function_ref<std::optional<std::string>(const Strategy &)> refuse);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_STRATEGY_H
