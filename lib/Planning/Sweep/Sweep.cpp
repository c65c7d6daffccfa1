//===- Sweep.cpp - The frontier of bytes against cost ---------------------------===//

#include "llmmem/Planning/Sweep/Sweep.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

int64_t needed(const VariantSet &variants, const ProblemVariantPlan &best) {
  return variants.alternatives[best.alternative].problem.residentBytes() + best.chosen.plan.arena;
}

} // namespace

std::vector<SweepPoint> sweepBudgets(VariantSet variants, const PlanOptions &options, int points) {
  PlanOptions atEnd = options;
  variants.setBudget(std::nullopt);
  const int64_t most = needed(variants, planVariants(variants, atEnd));
  atEnd.policy.kind = PolicyKind::LeastPeak;
  const int64_t least = std::min(most, needed(variants, planVariants(variants, atEnd)));

  const std::optional<int64_t> baseCost = costWithoutBudget(variants);
  std::vector<SweepPoint> sweep;
  for (int point = 0; point < points; ++point) {
    const __int128 span = most - least;
    const int64_t budget =
        points == 1 ? most : least + static_cast<int64_t>(span * point / (points - 1));
    variants.setBudget(std::max<int64_t>(budget, 0));
    const Plan planned = planVariants(variants, options).chosen.plan;
    sweep.push_back({budget, planned.status, planned.cost, planned.costLowerBound,
                     baseCost.value_or(planned.baseCost), planned.peak, planned.arena,
                     planned.bound});
  }
  return sweep;
}

void printSweepCsv(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os) {
  os << "budget,status,cost,cost_lower_bound,base_cost,peak,arena,bound\n";
  for (const SweepPoint &point : sweep)
    os << point.budget << ',' << nameOf(point.status) << ',' << point.cost << ','
       << point.costLowerBound << ',' << point.baseCost << ',' << point.peak << ',' << point.arena
       << ',' << point.bound << '\n';
}

void printSweepJson(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os) {
  os << "{\"format\": \"llmmem-sweep\", \"version\": 1, \"points\": [";
  llvm::interleave(
      sweep, os,
      [&](const SweepPoint &point) {
        os << "\n {\"budget\": " << point.budget << ", \"status\": \"" << nameOf(point.status)
           << "\", \"cost\": " << point.cost << ", \"cost_lower_bound\": " << point.costLowerBound
           << ", \"base_cost\": " << point.baseCost << ", \"peak\": " << point.peak
           << ", \"arena\": " << point.arena << ", \"bound\": " << llvm::json::Value(point.bound)
           << '}';
      },
      ",");
  os << "]}\n";
}

} // namespace llmmem::planning
