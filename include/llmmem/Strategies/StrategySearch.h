//===- StrategySearch.h - The strategy of the least modelled step time -----===//
//
// Runs branch and bound over all strategies for a topology. A strategy has a proved bound on its
// time (each op once, on the busiest rank) long before its recomputation is known. The search
// therefore always visits the strategy whose bound is least, and ends when ten strategies have
// times below the bounds of all others:
//
//   1  matmuls of its shape on one rank of dp     a bound, shared by many strategies
//   2  the ops of its rank, collectives included  a bound; if over the budget it is out, proved
//   3  with recomputation and pipeline waiting    its modelled time
//
// The pipeline then plans small steps as a whole: the best ones, and all whose bound is below the
// best plan. These plans decide between them.
//
// Units are bytes and ns.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_STRATEGIES_STRATEGYSEARCH_H
#define LLMMEM_STRATEGIES_STRATEGYSEARCH_H

#include "llmmem/Device/Topology.h"
#include "llmmem/Strategies/RankModel.h"
#include <functional>

namespace llmmem {

/// Describes what the pipeline made of a strategy: the step as it would run.
struct WholePlan {
  int64_t ns = 0;      // The modelled time of its ops.
  int64_t bytes = 0;   // Resident bytes plus arena of the fullest device, without the host.
  std::string refusal; // Says why a pass refuses the strategy; empty where it is planned.
};

struct StrategyOutcome {
  enum class State {
    Bounded,    // `timeBound` exceeds the time of the best one, so the search ends here.
    OverBudget, // `bytes` is the fewest found.
    TooLarge,   // `bytesBound` exceeds the budget, which is a proof.
    Refused,    // A pass refuses it.
    Modelled,
    Whole // It is modelled and planned as a whole.
  };

  Strategy strategy;
  State state = State::Bounded;
  int64_t timeBound = 0, bytesBound = 0; // Proved, for the busiest and for the fullest rank.
  int64_t ns = 0, bytes = 0;             // Modelled from blocks.
  int64_t recomputeNs = 0;               // The part of `ns` on the rank that recomputes most.
  int64_t waitingNs = 0;                 // The part of `ns` that stages wait for each other.
  int64_t updateNs = 0;                  // The part of `ns` of the update.
  WholePlan whole;
  std::string why; // Says why it is refused.

  /// Returns the time by which strategies are compared.
  int64_t time() const { return state == State::Whole ? whole.ns : ns; }
};

/// Is a change under which a strategy fits where none does without it (StrategyReliefs.h).
struct StrategyRelief {
  std::string flags; // The flags of the tools, or the number of devices.
  StrategyOutcome best;
};

/// It has many fields because each is a figure of the report on strategies.
struct SearchResult {
  planning::Status status = planning::Status::Unknown;
  /// Has at most ten elements that differ in more than what tp leaves whole, and the first is
  /// chosen.
  std::vector<StrategyOutcome> best;
  std::vector<StrategyOutcome> others; // In the order of strategies.
  Refusals refused;
  int64_t devices = 0;
  int64_t budget = 0, mostBudget = 0; // Those of the devices with the least and the most
                                      // memory.
  int64_t reserve = 0;                // Of each device, at least: it is in no budget.
  bool hasNccl = false;               // Whether ranks are on GPUs that NCCL joins.
  int64_t timeBound = 0;              // Proved: no visited strategy takes less.
  int64_t bytesBound = 0;             // Proved: every strategy needs more on some device.
  int64_t leastFound = 0; // The bytes of the strategy that needs the fewest, where none fits.
  bool isDecided = false; // No strategy has a better plan, because all that might were planned as a
                          // whole.
  std::vector<LayoutGroup> groups; // The groups that `Strategy::whole` counts.
  int64_t layouts = 0;             // The number that was compared in addition to those of
                                   // `parallelize`.
  int64_t shapes = 0;              // The number of programs that were made.
  int64_t dividing = 0; // The number of devices that some strategy divides the model over, where
                        // none does over those asked for; halves are tried.
  std::vector<StrategyRelief> reliefs; // What would fit, where nothing does.
};

struct SearchRequest {
  Topology topology;
  int64_t devices = 0;
  std::optional<int64_t> budget; // Holds for every rank; none means the memory of its device.
  StrategyPins pins;
  StepSettings settings;
  std::function<std::optional<std::string>(const Strategy &)> refuse;
  /// Plans a strategy as a whole; may be empty. The error says why there is no plan.
  std::function<llvm::Expected<WholePlan>(const Strategy &)> planWhole;
  bool comparesLayouts = true;  // Which groups of parameters tp leaves whole (Layouts.h).
  int64_t mostOpsOfStep = 2000; // Bounds the ops of a step that is planned as a whole.
  int64_t mostOps = 15000;      // Bounds the ops of all of those steps.
};

/// Searches for `module`, which has the @loss of the unsplit batch. Fails after a located
/// diagnostic where it has none, or where its blocks are not equal.
llvm::FailureOr<SearchResult> searchStrategies(mlir::ModuleOp module, const SearchRequest &request);

/// Returns "80.00 GB", or "40.00 GB to 80.00 GB" where devices differ.
std::string describeBudgets(const SearchResult &result);

/// Print for people and for programs.
void printSearch(const SearchResult &result, llvm::raw_ostream &os);
llvm::json::Value toJson(const SearchResult &result);

} // namespace llmmem

#endif // LLMMEM_STRATEGIES_STRATEGYSEARCH_H
