//===- Planner.cpp - The entry to the planner ------------------------------------===//

#include "llmmem/Planning/Planner.h"
#include "Budget/Certificate.h"
#include "Budget/Frontier.h"
#include "Budget/MicroBatchSearch.h"
#include "Offload/OffloadSearch.h"
#include "Offload/OffloadShape.h"
#include "Overlap/OverlapSearch.h"
#include "Policies/FixedPolicies.h"
#include "Schedulers/ExactSearch.h"
#include "Schedulers/PlacedSearch.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include <chrono>

using namespace llmmem::planning;

static int64_t workFor(const PlanOptions &options, double unitsPerSecond) {
  return tuning::workFor(options.workSeconds, unitsPerSecond);
}

static PackOptions packOptions(const Graph &graph, const PlanOptions &options) {
  const Problem &problem = graph.problem();
  PackOptions pack;
  pack.cancellation = graph.cancellation();
  pack.alignment = std::max<int64_t>(problem.alignment, 1);
  pack.work = workFor(options, tuning::packUnitsPerSecond);
  if (problem.budget)
    pack.capacity = std::max<int64_t>(0, *problem.budget - problem.residentBytes());
  return pack;
}

static void place(const Graph &graph, Plan &plan, std::vector<OpIndex> steps,
                  llvm::StringRef searcher, const PlanOptions &options) {
  plan.steps = std::move(steps);
  plan.searcher = searcher;
  placeSteps(graph.problem(), plan, packOptions(graph, options));
}

static bool fits(const Problem &problem, const Plan &plan) {
  return !problem.budget || problem.residentBytes() + plan.arena <= *problem.budget;
}

/// Returns the capacity for live bytes, which include the topmost buffer's padding. A budget may be
/// the largest 64-bit number.
static int64_t capacityFor(const Graph &graph) {
  const int64_t padding = graph.topPadding();
  return std::min(*graph.problem().budget, INT64_MAX - padding) + padding;
}

/// Copies the placed schedule into `plan` and keeps its bounds.
static void adopt(const Plan &placed, Plan &plan) {
  plan.steps = placed.steps;
  plan.offsets = placed.offsets;
  plan.workspaces = placed.workspaces;
  plan.peak = placed.peak;
  plan.arena = placed.arena;
  plan.cost = placed.cost;
  plan.searcher = placed.searcher;
}

/// Looks for a smaller arena. The packing search stops as soon as the budget is met; where the
/// plan's peak is below the budget, a smaller arena may exist. A search for the last
/// four-thousandth took longer than the plan.
static void tightenArena(const Graph &graph, Plan &plan, const PlanOptions &options) {
  constexpr int least = 12; // as a power of two, the part of the arena
  if (plan.arena - (plan.peak - graph.residentBytes()) <= plan.arena >> least)
    return;
  Plan other = plan;
  PackOptions pack = packOptions(graph, options);
  pack.capacity.reset();
  placeSteps(graph.problem(), other, pack);
  if (other.arena < plan.arena)
    plan = std::move(other);
}

static bool planUnderBudget(const Graph &graph, BudgetSearch &search, Frontier &frontier,
                            Plan &plan, const PlanOptions &options) {
  const Problem &problem = graph.problem();
  if (!problem.budget) {
    const Candidate &ordered = search.context().ordered();
    place(graph, plan, ordered.steps, ordered.searcher, options);
    if (const Candidate &annealed = search.context().annealedOrder();
        annealed.peak < ordered.peak) {
      Plan other = plan;
      place(graph, other, annealed.steps, annealed.searcher, options);
      if (other.arena < plan.arena)
        plan = std::move(other);
    }
    return true;
  }
  std::shared_ptr<const Plan> placed = frontier.at(*problem.budget);
  if (placed) {
    adopt(*placed, plan);
    tightenArena(graph, plan, options);
  }
  return placed != nullptr;
}

/// Handles live bytes that fit where no packing found does. It searches every schedule with every
/// placement, and finds a more expensive plan or proves that there is none. It returns nothing
/// where the search gave up.
static std::optional<bool> planPlacedExactly(const Graph &graph, Plan &plan,
                                             const PlanOptions &options) {
  const Problem &problem = graph.problem();
  int64_t work = workFor(options, tuning::placementsPerSecond);
  PlacedAnswer answer = cheapestPlaced(graph, *problem.budget - problem.residentBytes(), work);
  if (answer.kind == PlacedAnswer::Kind::GaveUp || tuning::isOff("every placement"))
    return std::nullopt;
  if (answer.kind == PlacedAnswer::Kind::None) {
    plan.witness.emplace();
    plan.witness->bytes = problem.residentBytes() + answer.leastArena;
    plan.witness->proved = true;
    plan.witness->why = "every schedule was searched with every placement: where the live bytes "
                        "fit, no arena that holds them does";
    plan.infeasibilityBasis.kind = BoundBasis::Kind::EveryPlacement;
    return false;
  }
  adopt(answer.plan, plan);
  plan.searcher = "every schedule with every placement";
  plan.costLowerBound = plan.cost;
  plan.costBasis = {BoundBasis::Kind::EveryPlacement, {}, {}};
  plan.bound = "every schedule and placement searched";
  return true;
}

/// Searches every schedule of a small problem. Returns nothing where the search gave up, else
/// whether there is a plan.
static std::optional<bool> planExactly(const Graph &graph, Plan &plan, const PlanOptions &options) {
  const Problem &problem = graph.problem();
  if (!problem.budget || !isSmall(graph) || tuning::isOff("every schedule"))
    return std::nullopt;
  int64_t capacity = capacityFor(graph);
  ExactOptions exact{.repeats = true, .work = workFor(options, tuning::schedulesPerSecond)};
  bool isFirst = true;
  while (true) {
    ExactAnswer answer = cheapestUnder(graph, capacity, exact);
    if (answer.kind == ExactAnswer::Kind::GaveUp)
      return std::nullopt;
    if (answer.kind == ExactAnswer::Kind::None) {
      if (isFirst) {
        plan.peakLowerBound = answer.leastBytes - graph.topPadding();
        plan.peakBasis.kind = BoundBasis::Kind::EverySchedule;
      }
      return false;
    }
    if (isFirst) {
      plan.costLowerBound = answer.cost;
      plan.costBasis.kind = BoundBasis::Kind::EverySchedule;
      plan.bound = "every schedule searched";
    }
    place(graph, plan, answer.steps, "every schedule", options);
    if (fits(problem, plan))
      return true;
    if (isFirst)
      if (std::optional<bool> placed = planPlacedExactly(graph, plan, options))
        return placed;
    isFirst = false;
    // The live bytes fit and no packing found does, so the search repeats with a lower capacity.
    capacity = std::min(capacity, profile(graph, answer.steps).peak) - 1;
  }
}

/// Looks for the least arena. Where an arena exceeds the peak, the schedule of the least peak may
/// have a larger arena than another. So it searches for smaller arenas until there is none; the
/// last plan found is the cheapest of the least arena.
static void shrinkArena(const Graph &graph, int64_t leastArena, Plan &plan,
                        const PlanOptions &options) {
  int64_t work = workFor(options, tuning::placementsPerSecond);
  while (plan.arena > leastArena && !tuning::isOff("every placement")) {
    PlacedAnswer answer = cheapestPlaced(graph, plan.arena - 1, work);
    if (answer.kind != PlacedAnswer::Kind::Found)
      return;
    adopt(answer.plan, plan);
    plan.searcher = "every schedule with every placement";
  }
}

static void planLeastPeak(const Graph &graph, Frontier &frontier, Plan &plan,
                          const PlanOptions &options) {
  ExactAnswer exact = leastPeakExactly(
      graph, {.repeats = true, .work = workFor(options, tuning::schedulesPerSecond)});
  if (exact.kind != ExactAnswer::Kind::Found || tuning::isOff("every schedule")) {
    adopt(*frontier.least(), plan);
    return;
  }
  plan.peakLowerBound = profile(graph, exact.steps).peak - graph.topPadding();
  plan.peakBasis.kind = BoundBasis::Kind::EverySchedule;
  place(graph, plan, std::move(exact.steps), "every schedule", options);
  shrinkArena(graph, std::max<int64_t>(0, plan.peakLowerBound - graph.residentBytes()), plan,
              options);
}

/// Plans a problem without ops, where nothing can be chosen: the inputs that are kept lie in the
/// arena, and that is all.
static void planNothing(const Graph &graph, Plan &plan, const PlanOptions &options) {
  const Problem &problem = graph.problem();
  place(graph, plan, {}, "", options);
  if (fits(problem, plan))
    return;
  int64_t held = problem.residentBytes() - graph.topPadding();
  for (ValueIndex value : problem.keep)
    held += problem.values[value].resident ? 0 : graph.bytes(value);
  plan.peakLowerBound = held;
  plan.peakBasis.kind = BoundBasis::Kind::EverySchedule;
}

std::optional<std::string> llmmem::planning::checkPlannable(const Problem &problem) {
  auto refuse = [](const std::string &what) {
    return "planning " + what + " is not offered; --check verifies such plans";
  };
  if (hasOffload(problem))
    return checkOffloadable(problem);
  const bool overlaps = hasSeveralResources(problem);
  for (const Op &op : problem.ops) {
    if (overlaps && op.resource != Resource::Compute && op.resource != Resource::Link)
      return refuse("overlap of resources other than compute and link");
    if (op.optional)
      return refuse("optional ops");
    if (!op.alternatives.empty())
      return refuse("alternatives of ops");
  }
  return std::nullopt;
}

static Plan refusal(const Problem &problem, std::string why) {
  Plan plan;
  for (const Op &op : problem.ops)
    plan.baseCost += op.optional ? 0 : op.cost;
  plan.moreMemories.resize(problem.moreMemories.size());
  plan.witness.emplace();
  plan.witness->why = std::move(why);
  return plan;
}

/// Plans to the end. It throws where the plan is cancelled.
static Plan planToTheEnd(const Problem &problem, const PlanOptions &options,
                         Cancellation *cancellation) {
  const Graph graph(problem, cancellation);
  Plan plan;
  const auto entry = llvm::find_if(
      policyTable(), [&](const PolicyEntry &other) { return other.kind == options.policy.kind; });
  plan.baseCost = plan.costLowerBound = graph.baseCost();
  plan.bound = "every op once";
  const std::unique_ptr<BudgetSearch> owner =
      makeBudgetSearch(graph, workFor(options, tuning::stepsPerSecond));
  BudgetSearch &search = *owner;
  search.reportTo(options.progress);
  Frontier frontier(graph, search, workFor(options, tuning::packUnitsPerSecond));
  bool found = true;
  search.context().progress.announce("a plan for " + llvm::Twine(problem.ops.size()) + " ops");
  if (graph.numOps() == 0)
    planNothing(graph, plan, options);
  else if (entry->decide)
    place(graph, plan, decideFixed(entry->decide, graph, options.policy),
          "the policy " + std::string(entry->name), options);
  else if (entry->kind == PolicyKind::LeastPeak)
    planLeastPeak(graph, frontier, plan, options);
  else if (std::optional<bool> exact = planExactly(graph, plan, options))
    found = *exact;
  else
    found = planUnderBudget(graph, search, frontier, plan, options);
  plan.status = found && fits(problem, plan) ? Status::Feasible : Status::Unknown;
  search.context().progress.announce("the certificate");
  certify(graph, search, frontier,
          {found, options.provesCost, /*provesFootprint=*/entry->kind == PolicyKind::LeastPeak},
          plan);
  if (!plan.steps.empty())
    plan.peakLowerBound =
        std::max(problem.residentBytes(), plan.peakLowerBound - paddingOf(problem));
  if (problem.needsVersion2()) // one resource is busy all the time
    plan.time = {plan.cost, plan.baseCost, plan.costLowerBound};
  graph.poll(); // a packing that was cut short is no answer
  return plan;
}

static Plan planWithHost(const Problem &problem, const PlanOptions &options,
                         Cancellation *cancellation) {
  OffloadOptions offload{options.policy.kind, options.workSeconds, options.progress, cancellation};
  offload.planOneMemory = [&](const Problem &one, PolicyKind kind) {
    PlanOptions ofOne = options;
    ofOne.policy.kind = kind;
    ofOne.provesCost = false; // a bound without copies is not true of plans with copies
    return planToTheEnd(one, ofOne, cancellation);
  };
  offload.planUnderBudget = [&](const Graph &graph, BudgetSearch &search, Frontier &frontier,
                                Plan &plan) {
    return planUnderBudget(graph, search, frontier, plan, options);
  };
  if (options.timeOf)
    offload.timeOf = [&](const Plan &plan) { return options.timeOf(options.variant, plan); };
  offload.movesState = options.movesState;
  offload.knownTime = options.knownTime;
  return planOffloaded(problem, offload);
}

Plan llmmem::planning::plan(const Problem &problem, const PlanOptions &options) {
  if (std::optional<std::string> why = checkPlannable(problem))
    return refusal(problem, std::move(*why));
  auto start = std::chrono::steady_clock::now();
  Cancellation cancellation(options.isCancelled);
  Plan plan;
  try {
    Cancellation *canceller = options.isCancelled ? &cancellation : nullptr;
    auto planOneResource = [&](const Problem &one) {
      return planToTheEnd(one, options, canceller);
    };
    if (hasOffload(problem))
      plan = planWithHost(problem, options, canceller);
    else if (hasSeveralResources(problem))
      plan = planOverlapped(problem, {options.policy.kind, options.workSeconds, options.progress,
                                      canceller, planOneResource});
    else
      plan = planOneResource(problem);
  } catch (const Cancelled &) {
    plan = refusal(problem, "cancelled");
  }
  plan.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}
