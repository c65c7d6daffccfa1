//===- StrategySearch.h - The strategy of the least modelled step time -----===//
//
// Branch and bound over all strategies for a topology. A strategy has a proved bound on its time
// (each op once, on the busiest rank) long before its recomputation is known, so the search always
// looks next at the strategy whose bound is least, and ends when ten are known whose times are
// below the bounds of all others:
//
//   1  matmuls of its shape on one rank of dp     a bound, shared by many strategies
//   2  the ops of its rank, collectives included  a bound; over the budget it is out, proved
//   3  with recomputation, and the pipeline's     its modelled time
//      waiting
//
// Small steps are then planned whole by the pipeline: the best ones, and whatever has a bound below
// the best plan. What that gives decides between them.
//
// Units: bytes, ns.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_STRATEGYSEARCH_H
#define LLMMEM_STRATEGIES_STRATEGYSEARCH_H

#include "llmmem/Analysis/Topology.h"
#include "llmmem/Strategies/RankModel.h"
#include <functional>

namespace llmmem {

/// What the pipeline made of a strategy: the step as it would be run.
struct WholePlan {
  int64_t ns = 0;    // modelled, of its ops as they stand
  int64_t bytes = 0; // resident and arena, of the fullest rank
};

struct StrategyOutcome {
  enum class State {
    Bounded,    // not looked at further: `timeBound` is above the time of the best
    OverBudget, // `bytes` is the least found
    TooLarge,   // proved: `bytesBound` is above the budget
    Refused,    // by a pass
    Modelled,
    Whole // modelled, and planned whole
  };

  Strategy strategy;
  State state = State::Bounded;
  int64_t timeBound = 0, bytesBound = 0; // proved, of the busiest and of the fullest rank
  int64_t ns = 0, bytes = 0;             // modelled from blocks
  int64_t recomputeNs = 0;               // of it, on the rank that recomputes most
  int64_t waitingNs = 0;                 // of it, of stages for each other
  int64_t updateNs = 0;                  // of it
  WholePlan whole;
  std::string why; // of a refusal

  /// What strategies are compared by.
  int64_t time() const { return state == State::Whole ? whole.ns : ns; }
};

struct SearchResult {
  planning::Status status = planning::Status::Unknown;
  std::vector<StrategyOutcome> best;   // at most ten, the first is chosen
  std::vector<StrategyOutcome> others; // in the order of strategies
  Refusals refused;
  int64_t devices = 0;
  int64_t budget = 0, mostBudget = 0; // of the device that has the least, and the most
  int64_t timeBound = 0;              // proved: no strategy looked at takes less
  int64_t bytesBound = 0;             // proved: every strategy needs more on some device
  int64_t leastFound = 0; // bytes of the strategy that needs the fewest, where none fits
  bool isDecided = false; // no strategy has a better plan: all that might were planned whole
  std::vector<LayoutGroup> groups; // which `Strategy::whole` counts
  int64_t layouts = 0;             // that were compared beside those of `parallelize`
  int64_t shapes = 0;              // of programs that were made
};

struct SearchRequest {
  Topology topology;
  int64_t devices = 0;
  std::optional<int64_t> budget; // of every rank; else what its device has
  StrategyPins pins;
  StepSettings settings;
  std::function<std::optional<std::string>(const Strategy &)> refuse;
  /// Plans a strategy whole; may be empty. An error says why there is no plan.
  std::function<llvm::Expected<WholePlan>(const Strategy &)> planWhole;
  int64_t mostOpsOfStep = 2000; // that is planned whole
  int64_t mostOps = 15000;      // in all of those
};

/// Searches for `module`, which has the @loss of a whole batch. Fails, after a located diagnostic,
/// where it has none, or no equal blocks.
llvm::FailureOr<SearchResult> searchStrategies(mlir::ModuleOp module, const SearchRequest &request);

/// "80.00 GB", or "40.00 GB to 80.00 GB" where devices differ.
std::string describeBudgets(const SearchResult &result);

/// For people, and for programs.
void printSearch(const SearchResult &result, llvm::raw_ostream &os);
llvm::json::Value toJson(const SearchResult &result);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_STRATEGYSEARCH_H
