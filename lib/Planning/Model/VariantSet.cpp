//===- VariantSet.cpp - The variants of a step ------------------------------===//

#include "llmmem/Planning/Model/VariantSet.h"
#include "llmmem/Planning/Model/ValidateTilings.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

Problem llmmem::planning::withTiling(const Problem &problem, const Tiling &tiling) {
  Problem result = problem;
  for (const OpTiling &entry : tiling) {
    result.ops[entry.op].cost = entry.cost;
    result.ops[entry.op].workspace = entry.workspace;
  }
  return result;
}

TiledProblem::TiledProblem(const Problem &problem, const Tiling &tiling) : given(&problem) {
  if (!tiling.empty())
    changed = withTiling(problem, tiling);
}

VariantSet VariantSet::only(Problem problem) {
  VariantSet variants;
  variants.alternatives.push_back({std::move(problem), {Tiling()}, {}});
  return variants;
}

std::optional<Problem> VariantSet::problemOf(VariantNumber variant) const {
  if (variant.alternative < 0 || static_cast<size_t>(variant.alternative) >= alternatives.size())
    return std::nullopt;
  const ProblemVariant &it = alternatives[variant.alternative];
  if (variant.tiling < 0 || static_cast<size_t>(variant.tiling) >= it.tilings.size())
    return std::nullopt;
  return withTiling(it.problem, it.tilings[variant.tiling]);
}

void VariantSet::setBudget(std::optional<int64_t> budget) {
  for (ProblemVariant &it : alternatives)
    it.problem.budget = budget;
}

/// Returns the ops of a tiling, sorted. All tilings of a variant must list the same ops.
static std::vector<OpIndex> opsOf(const Tiling &tiling) {
  std::vector<OpIndex> ops;
  for (const OpTiling &entry : tiling)
    ops.push_back(entry.op);
  llvm::sort(ops);
  return ops;
}

std::optional<std::string> llmmem::planning::validateTilings(const ProblemVariant &variant) {
  const std::vector<OpIndex> ops = opsOf(variant.tilings.front());
  if (std::adjacent_find(ops.begin(), ops.end()) != ops.end())
    return "a tiling names an op twice";
  std::optional<Problem> before;
  for (const Tiling &tiling : variant.tilings) {
    if (opsOf(tiling) != ops)
      return "all tilings must name the same ops";
    if (ops.empty())
      continue; // the problem itself
    Problem its = withTiling(variant.problem, tiling);
    if (std::optional<std::string> error = validateProblem(its))
      return error;
    int64_t cost = 0, costBefore = 0;
    for (OpIndex op : ops) {
      cost += its.ops[op].cost;
      costBefore += before ? before->ops[op].cost : 0;
      if (before && its.ops[op].workspace > before->ops[op].workspace)
        return "tilings must come with the largest workspaces first";
    }
    if (before && cost < costBefore)
      return "tilings must come with the cheapest first";
    before = std::move(its);
  }
  return std::nullopt;
}
