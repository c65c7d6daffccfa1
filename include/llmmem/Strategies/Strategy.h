//===- Strategy.h - The ways to run a step on a number of devices ----------===//
//
// A strategy is what a user would write beside `--mesh`: how many ranks share the batch (dp), the
// heads, widths and vocabulary (tp) and the blocks (pp), what of the parameters is split over dp
// (ZeRO), in how many micro-batches, and in which order stages run them.
//
// Example: 8 devices and a batch of 4 sequences: pp=2,dp=2,tp=2 has 1 or 2 micro-batches; dp=8 is
// refused, because 8 ranks do not divide 4 sequences.
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
  int64_t pp = 1, dp = 1, tp = 1;
  int64_t zeroStage = 0;
  bool sequenceParallel = false;
  int64_t microBatches = 1;
  planning::PipelineKind schedule = planning::PipelineKind::OneForwardOneBackward;
  int64_t chunks = 1; // of a stage
  /// Groups of parameters that tp leaves whole (Layouts.h), a bit each. Flags do not say it.
  uint32_t whole = 0;

  int64_t numDevices() const { return pp * dp * tp; }
  planning::PipelineShape shape() const { return {schedule, pp, microBatches, chunks}; }
  /// `pp=2,dp=4`: axes of one rank left out, the fastest last, so that what talks most is nearest;
  /// `dp=1` where all are of one.
  std::string mesh() const;
  /// The flags of llmmem-opt that mean this strategy.
  std::string flags() const;

  auto operator<=>(const Strategy &other) const = default;
};

/// What of a model decides which strategies there are.
struct ModelFacts {
  int64_t batch = 0;  // sequences of a step, over all ranks
  int64_t blocks = 0; // equal ones
};

/// What the user has decided already.
struct StrategyPins {
  std::optional<int64_t> zeroStage, microBatches, chunks;
  std::optional<bool> sequenceParallel;
  std::optional<planning::PipelineKind> schedule;
};

/// Why strategies are not looked at, and how many each reason excludes.
using Refusals = std::map<std::string, int64_t>;

struct Enumeration {
  std::vector<Strategy> strategies; // in increasing order: the plainest of equal ones comes first
  Refusals refused;
};

/// All strategies for so many devices. `refuse` says why a strategy cannot be built, or nothing; it
/// is asked once what divides is known. A reason counts a mesh once, or a strategy where it is of
/// that alone.
Enumeration
enumerateStrategies(const ModelFacts &model, int64_t devices, const StrategyPins &pins,
                    llvm::function_ref<std::optional<std::string>(const Strategy &)> refuse);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_STRATEGY_H
