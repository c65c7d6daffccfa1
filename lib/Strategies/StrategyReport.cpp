//===- StrategyReport.cpp - What was chosen, and why -----------------------===//

#include "llmmem/Device/HeldOutside.h"
#include "llmmem/Strategies/StrategySearch.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using State = StrategyOutcome::State;

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static std::string milliseconds(int64_t ns) {
  return llvm::formatv("{0:F3} ms", 1e-6 * static_cast<double>(ns));
}

/// Returns the parameters of the groups that stay unsharded, a limited number of each.
static std::vector<std::string> wholeNames(const SearchResult &result, const Strategy &strategy,
                                           size_t most = SIZE_MAX) {
  std::vector<std::string> names;
  for (auto [number, group] : llvm::enumerate(result.groups))
    if (strategy.whole >> number & 1)
      llvm::append_range(names, llvm::ArrayRef(group.names).take_front(most));
  return names;
}

static void printBest(const SearchResult &result, llvm::raw_ostream &os) {
  for (auto [number, outcome] : llvm::enumerate(result.best)) {
    bool isWhole = outcome.state == State::Whole;
    os << llvm::formatv("{0,2}  {1}  {2} a rank", number + 1,
                        llvm::right_justify(milliseconds(outcome.time()), 14),
                        llvm::right_justify(
                            formatByteSize(isWhole ? outcome.whole.bytes : outcome.bytes), 10))
       << "  " << outcome.strategy.flags();
    std::string model = outcome.ns > 0 ? milliseconds(outcome.ns) : "over the budget";
    os << (isWhole ? "  (planned whole; from blocks " + model + ")" : "  (modelled from blocks)");
    if (outcome.strategy.whole)
      os << "  not split by tp: " << llvm::join(wholeNames(result, outcome.strategy, 1), ", ");
    if (outcome.recomputeNs > 0)
      os << "  recomputation takes " << milliseconds(outcome.recomputeNs);
    if (outcome.waitingNs > 0)
      os << "  stages wait " << milliseconds(outcome.waitingNs);
    os << "\n";
  }
}

namespace {
/// Describes strategies that lost for one reason.
struct Losers {
  int64_t count = 0;
  const StrategyOutcome *nearest = nullptr;

  void add(const StrategyOutcome &outcome, int64_t distance) {
    ++count;
    if (!nearest || distance < least) {
      nearest = &outcome;
      least = distance;
    }
  }

private:
  int64_t least = 0;
};
} // namespace

static void printLosers(const SearchResult &result, llvm::raw_ostream &os) {
  Losers tooLarge, overBudget, slower, modelled;
  for (const StrategyOutcome &outcome : result.others) {
    if (outcome.state == State::TooLarge)
      tooLarge.add(outcome, outcome.bytesBound);
    if (outcome.state == State::OverBudget)
      overBudget.add(outcome, outcome.bytes);
    if (outcome.state == State::Bounded)
      slower.add(outcome, outcome.timeBound);
    if (outcome.state == State::Modelled)
      modelled.add(outcome, outcome.ns);
  }
  if (tooLarge.nearest)
    os << "too large      " << tooLarge.count
       << " strategies need more than the budget, proved; the nearest "
       << tooLarge.nearest->strategy.flags() << ": " << formatByteSize(tooLarge.nearest->bytesBound)
       << " or more\n";
  if (overBudget.nearest)
    os << "over budget    " << overBudget.count
       << " strategies, for which no plan was found; the nearest "
       << overBudget.nearest->strategy.flags() << ": " << formatByteSize(overBudget.nearest->bytes)
       << "\n";
  if (modelled.nearest)
    os << "slower         " << modelled.count << " strategies; the nearest "
       << modelled.nearest->strategy.flags() << ": " << milliseconds(modelled.nearest->ns) << "\n";
  if (slower.nearest)
    os << "bounded        " << slower.count
       << " strategies take longer than those above, proved; the nearest "
       << slower.nearest->strategy.flags() << ": " << milliseconds(slower.nearest->timeBound)
       << " or more\n";
  for (const auto &[reason, count] : result.refused)
    os << "refused        " << count << ": " << reason << "\n";
}

static void printReliefs(const SearchResult &result, llvm::raw_ostream &os) {
  for (const StrategyRelief &relief : result.reliefs)
    os << "would fit      " << relief.flags << ": " << formatByteSize(relief.best.bytes)
       << " a rank, " << milliseconds(relief.best.ns) << ", " << relief.best.strategy.flags()
       << "  (modelled from blocks)\n";
}

std::string llmmem::describeBudgets(const SearchResult &result) {
  std::string least = formatByteSize(result.budget);
  return result.mostBudget > result.budget ? least + " to " + formatByteSize(result.mostBudget)
                                           : least;
}

/// Prints what devices hold that no plan counts. It is of the first strategy.
static void printOutside(const SearchResult &result, llvm::raw_ostream &os) {
  const int64_t groups = result.best.empty() ? 0 : result.best.front().strategy.numGroups();
  if (result.reserve > 0)
    os << "reserve        " << formatByteSize(result.reserve)
       << " of each device are in no budget: context, modules and libraries\n";
  if (!result.hasNccl || groups == 0)
    return;
  const int64_t bytes = statedNcclBytes(groups);
  os << "next to a plan NCCL takes about " << formatByteSize(bytes) << " (" << bytes
     << " bytes) in " << groups << (groups == 1 ? " communicator" : " communicators")
     << " by its defaults, not measured";
  if (bytes > result.reserve)
    os << "; "
       << (result.reserve > 0
               ? "that is more than the reserve: give the topology's devices a larger \"reserve\""
               : "nothing is reserved: give the topology's devices a \"reserve\"");
  os << "\n";
}

void llmmem::printSearch(const SearchResult &result, llvm::raw_ostream &os) {
  os << "strategies     for " << result.devices << " devices, under " << describeBudgets(result)
     << " each\n";
  printBest(result, os);
  printLosers(result, os);
  os << "lower bound    " << formatByteSize(result.bytesBound)
     << " on some device, whatever the strategy";
  if (result.timeBound != INT64_MAX)
    os << "; " << milliseconds(result.timeBound) << " of those that may fit";
  os << "\n";
  if (result.isDecided && !result.best.empty())
    os << "decided        every strategy with a bound below the first's time was planned whole\n";
  if (result.status == planning::Status::Infeasible)
    os << "infeasible     every strategy is proved to need more than the budget\n";
  if (result.status == planning::Status::Unknown && result.dividing == 0)
    os << "unknown        no strategy was found to fit"
       << (result.leastFound == INT64_MAX
               ? std::string()
               : "; the least found needs " + std::to_string(result.leastFound) + " bytes")
       << "\n";
  printOutside(result, os);
  printReliefs(result, os);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static llvm::StringRef nameOf(State state) {
  switch (state) {
  case State::Bounded:
    return "bounded";
  case State::OverBudget:
    return "over_budget";
  case State::TooLarge:
    return "too_large";
  case State::Refused:
    return "refused";
  case State::Modelled:
    return "modelled";
  case State::Whole:
    return "planned";
  }
  return "";
}

static llvm::json::Value toJson(const SearchResult &result, const StrategyOutcome &outcome) {
  const Strategy &strategy = outcome.strategy;
  llvm::json::Object entry{{"flags", strategy.flags()},
                           {"pp", strategy.pp},
                           {"dp", strategy.dp},
                           {"tp", strategy.tp},
                           {"ep", strategy.ep},
                           {"cp", strategy.cp},
                           {"zero", strategy.zeroStage},
                           {"sequence_parallel", strategy.sequenceParallel},
                           {"micro_batches", strategy.microBatches},
                           {"state", nameOf(outcome.state)},
                           {"time_lower_bound_ns", outcome.timeBound},
                           {"bytes_lower_bound", outcome.bytesBound}};
  if (strategy.pp > 1) {
    entry["pipeline"] = planning::nameOf(strategy.schedule);
    entry["pipeline_chunks"] = strategy.chunks;
  }
  if (outcome.state == State::Modelled || outcome.state == State::Whole)
    entry["modelled"] = llvm::json::Object{{"time_ns", outcome.ns},
                                           {"bytes", outcome.bytes},
                                           {"recompute_ns", outcome.recomputeNs},
                                           {"waiting_ns", outcome.waitingNs},
                                           {"update_ns", outcome.updateNs}};
  if (outcome.state == State::Whole)
    entry["planned"] =
        llvm::json::Object{{"time_ns", outcome.whole.ns}, {"bytes", outcome.whole.bytes}};
  if (outcome.state == State::OverBudget)
    entry["least_bytes_found"] = outcome.bytes;
  if (strategy.whole)
    entry["whole"] = llvm::json::Array(wholeNames(result, strategy));
  if (!outcome.why.empty())
    entry["why"] = outcome.why;
  return entry;
}

llvm::json::Value llmmem::toJson(const SearchResult &result) {
  llvm::json::Array best, others, refused;
  for (const StrategyOutcome &outcome : result.best)
    best.push_back(::toJson(result, outcome));
  for (const StrategyOutcome &outcome : result.others)
    others.push_back(::toJson(result, outcome));
  for (const auto &[reason, count] : result.refused)
    refused.push_back(llvm::json::Object{{"reason", reason}, {"count", count}});
  llvm::json::Object report{
      {"format", "llmmem-mesh-report"},
      {"version", 1},
      {"status", llvm::StringRef(planning::nameOf(result.status))},
      {"devices", result.devices},
      {"budget", result.budget},
      {"reserve", result.reserve},
      {"nccl_stated", result.hasNccl && !result.best.empty()
                          ? statedNcclBytes(result.best.front().strategy.numGroups())
                          : 0},
      {"bytes_lower_bound", result.bytesBound},
      {"decided", result.isDecided},
      {"layouts", result.layouts},
      {"shapes", result.shapes},
      {"best", std::move(best)},
      {"others", std::move(others)},
      {"refused", std::move(refused)}};
  if (result.timeBound != INT64_MAX)
    report["time_lower_bound_ns"] = result.timeBound;
  if (result.leastFound != INT64_MAX)
    report["least_bytes_found"] = result.leastFound;
  llvm::json::Array reliefs;
  for (const StrategyRelief &relief : result.reliefs)
    reliefs.push_back(llvm::json::Object{{"change", relief.flags},
                                         {"flags", relief.best.strategy.flags()},
                                         {"bytes", relief.best.bytes},
                                         {"time_ns", relief.best.ns}});
  if (!reliefs.empty())
    report["reliefs"] = std::move(reliefs);
  return report;
}
