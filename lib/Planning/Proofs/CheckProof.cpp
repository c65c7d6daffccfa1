//===- CheckProof.cpp - Check what a plan claims, with its proof -------------===//

#include "Facts.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Proofs/Check.h"
#include <algorithm>

namespace llmmem::planning {

using namespace proofs;
using Kind = Argument::Kind;

namespace {

class Checker {
public:
  Checker(const Problem &problem, const Plan &plan, const Proof &proof, const CheckOptions &options)
      : problem(problem), plan(plan), proof(proof), work(options.work),
        exact(problem, Sizes::Exact), rounded(problem, Sizes::Rounded) {}

  std::vector<ClaimCheck> run() {
    checkPlan();
    if (checks.front().verdict == Verdict::Refused)
      return std::move(checks);
    if (std::optional<std::string> why = findForeign()) {
      for (const char *claim : {"cost", "peak"})
        checks.push_back({claim, Verdict::NotChecked, *why});
      return std::move(checks);
    }
    checkCost();
    checkPeak();
    if (plan.status == Status::Infeasible)
      checkInfeasible();
    return std::move(checks);
  }

private:
  void checkPlan() {
    const std::vector<Violation> violations = verify(problem, plan);
    if (!violations.empty())
      checks.push_back(
          {"plan", Verdict::Refused, violations[0].rule + ": " + violations[0].message});
    else if (proof.budget != problem.budget)
      checks.push_back({"plan", Verdict::Refused,
                        "the proof is of " + nameOf(proof.budget) + ", the problem has " +
                            nameOf(problem.budget)});
    else if (plan.steps.empty())
      checks.push_back({"plan", Verdict::Checked, "it has no steps, and contradicts nothing"});
    else
      checks.push_back({"plan", Verdict::Checked,
                        std::to_string(plan.steps.size()) + " steps cost " +
                            std::to_string(plan.cost) + " and hold " + std::to_string(plan.peak) +
                            " bytes at most; their arena has " + std::to_string(plan.arena)});
  }

  static std::string nameOf(const std::optional<int64_t> &budget) {
    return budget ? "a budget of " + std::to_string(*budget) + " bytes" : "no budget";
  }

  /// Says which property of the problem, if any, no proof covers.
  std::optional<std::string> findForeign() const {
    for (const Op &op : problem.ops)
      if (op.optional || !op.alternatives.empty() || op.resource != problem.ops.front().resource)
        return "proofs speak of problems with one resource, no optional op and no alternatives";
    if (!problem.moreMemories.empty())
      return "proofs speak of problems with one memory";
    return std::nullopt;
  }

  void conclude(const char *claim, const Finding &finding, Wide stated,
                const std::string &statement) {
    if (finding.verdict != Verdict::Checked)
      checks.push_back({claim, finding.verdict, finding.why});
    else if (!finding.impossible && finding.least < stated)
      checks.push_back({claim, Verdict::Refused,
                        "stated is " + text(stated) + ", proved is " + text(finding.least)});
    else
      checks.push_back({claim, Verdict::Checked, statement});
  }

  /// Returns the finding of an exhausted search, which proves what it was asked for.
  static Finding searched(Finding finding, Wide asked) {
    finding.least = asked;
    return finding;
  }

  Finding findCost(const Argument &argument, Wide stated) const {
    if (argument.kind == Kind::EveryOpOnce)
      return {Verdict::Checked, "", exact.baseCost};
    if (!problem.budget)
      return Finding::refused("without a budget, every op once is all that is proved");
    const Wide budget = *problem.budget, arena = budget - rounded.resident;
    Finding extra;
    switch (argument.kind) {
    case Kind::Cuts:
      extra = costByCuts(rounded, argument, budget);
      break;
    case Kind::OpenCut:
      extra = costByOpenCut(rounded, argument.openCut, budget);
      break;
    case Kind::Rounds:
      extra = costByRounds(rounded, argument.rounds, budget);
      break;
    case Kind::EverySchedule:
      return searched(
          searchSchedules(rounded, budget + rounded.padding(), stated - exact.baseCost, work),
          stated);
    case Kind::EveryPlacement:
      return searched(searchPlacements(rounded, arena, stated - exact.baseCost, work), stated);
    default:
      return Finding::refused("the argument is none for a cost");
    }
    extra.least += exact.baseCost;
    return extra;
  }

  void checkCost() {
    const Wide stated = std::max<Wide>(plan.costLowerBound, plan.time ? plan.time->lowerBound : 0);
    if (!proof.cost) {
      checks.push_back({"cost", Verdict::NotChecked, "the proof says nothing of it"});
      return;
    }
    conclude("cost", findCost(*proof.cost, stated), stated,
             "no plan" +
                 (problem.budget ? " within " + std::to_string(*problem.budget) + " bytes"
                                 : std::string()) +
                 " costs less than " + text(stated));
  }

  /// Returns the footprint, by the sizes that `facts` counts.
  Finding findFootprint(const Facts &facts, const Argument &argument, Wide stated) const {
    switch (argument.kind) {
    case Kind::Resident:
      return {Verdict::Checked, "", facts.resident};
    case Kind::OneOp:
      if (!facts.isOp(argument.op))
        return Finding::refused("the argument names no op");
      return {Verdict::Checked, "", facts.footprintAt(argument.op)};
    case Kind::Cuts:
      return footprintByCuts(facts, argument);
    case Kind::LastRuns:
      return footprintByLastRuns(facts, argument.lastRuns);
    case Kind::EverySchedule:
      return searched(
          searchSchedules(facts, stated - 1 + facts.padding(), /*cost=*/std::nullopt, work),
          stated);
    case Kind::EveryPlacement:
      return searched(searchPlacements(facts, stated - 1 - facts.resident, std::nullopt, work),
                      stated);
    default:
      return Finding::refused("the argument is none for bytes");
    }
  }

  /// Checks the peak. A plan with steps states what schedules hold, in exact sizes; one without
  /// states what arenas take.
  void checkPeak() {
    const bool hasSteps = !plan.steps.empty();
    if (!proof.peak) {
      checks.push_back({"peak", Verdict::NotChecked, "the proof says nothing of it"});
      return;
    }
    conclude("peak", findFootprint(hasSteps ? exact : rounded, *proof.peak, plan.peakLowerBound),
             plan.peakLowerBound,
             std::string(hasSteps ? "no schedule holds" : "no plan needs") + " less than " +
                 std::to_string(plan.peakLowerBound) + " bytes");
  }

  void checkInfeasible() {
    if (!proof.infeasible) {
      checks.push_back({"infeasible", Verdict::NotChecked, "the proof says nothing of it"});
      return;
    }
    if (!problem.budget) {
      checks.push_back({"infeasible", Verdict::Refused, "the problem has no budget"});
      return;
    }
    const Wide stated =
        std::max<Wide>(Wide(*problem.budget) + 1, plan.witness ? plan.witness->bytes : 0);
    conclude("infeasible", findFootprint(rounded, *proof.infeasible, stated), stated,
             "every plan needs " + text(stated) + " bytes or more, the budget has " +
                 std::to_string(*problem.budget));
  }

  const Problem &problem;
  const Plan &plan;
  const Proof &proof;
  const int64_t work;
  const Facts exact, rounded;
  std::vector<ClaimCheck> checks;
};

} // namespace

std::string_view wordOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Checked:
    return "checked";
  case Verdict::NotChecked:
    return "not checked";
  case Verdict::Refused:
    return "refused";
  }
  return "refused";
}

std::vector<ClaimCheck> checkProof(const Problem &problem, const Plan &plan, const Proof &proof,
                                   const CheckOptions &options) {
  if (std::optional<std::string> why = validateProblem(problem))
    return {{"plan", Verdict::Refused, "the problem: " + *why}};
  return Checker(problem, plan, proof, options).run();
}

} // namespace llmmem::planning
