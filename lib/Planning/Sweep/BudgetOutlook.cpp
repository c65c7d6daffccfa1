//===- BudgetOutlook.cpp - What more budget buys, and where it ends ---------===//

#include "llmmem/Planning/Sweep/BudgetOutlook.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmmem::planning;

BudgetOutlook llmmem::planning::lookAround(VariantSet variants, const PlanOptions &options,
                                           int64_t cost) {
  constexpr int64_t kGigabyte = 1'000'000'000;
  const std::optional<int64_t> budget = variants.alternatives.front().problem.budget;
  BudgetOutlook outlook;
  if (budget) {
    outlook.more = *budget >= 10 * kGigabyte ? kGigabyte : *budget / 10;
    variants.setBudget(*budget + outlook.more);
    const Plan larger = planVariants(variants, options).chosen.plan;
    outlook.saved = larger.status == Status::Feasible ? cost - larger.cost : 0;
  }
  PlanOptions leastOptions = options;
  leastOptions.policy.kind = PolicyKind::LeastPeak;
  variants.setBudget(std::nullopt);
  const ProblemVariantPlan least = planVariants(variants, leastOptions);
  outlook.least =
      variants.alternatives[least.alternative].problem.residentBytes() + least.chosen.plan.arena;
  outlook.atLeast = least.chosen.plan.cost - cost;
  return outlook;
}

std::string llmmem::planning::outlookText(const BudgetOutlook &outlook, int64_t withoutBudget) {
  const double whole = std::max<double>(1, static_cast<double>(withoutBudget));
  auto percent = [&](int64_t cost) {
    return llvm::format(" (%.2f %% of the step)", 100.0 * static_cast<double>(cost) / whole);
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  if (outlook.more > 0)
    os << "with " << llmmem::formatByteSize(outlook.more) << " more, a plan was found that costs "
       << outlook.saved << " less" << percent(outlook.saved) << '\n';
  os << "below " << llmmem::formatByteSize(outlook.least) << " (" << outlook.least
     << " bytes) no plan was found; there the step costs " << outlook.atLeast << " more"
     << percent(outlook.atLeast) << '\n';
  return text;
}
