//===- VariantSet.h - The variants of a step --------------------------------===//
//
// One step can run in several variants that give the same results: made of other ops (two ops, or
// one that does the work of both), and with other tilings of an op that works in chunks. A problem
// is one variant; VariantSet has all among which a plan may choose.
//
// A llmmem-problem lists them as "forms" in addition to the variant that it states
// (docs/Design/Planning.md, "Forms"):
//
//   "forms": [{"tilings": [[], [{"op": 7, "cost": 12, "workspace": 25}]]},
//             {"tilings": [[]], "values": [...], "ops": [...], "keep": [...]}]
//
// The one entry without ops is the variant that the file states. Code that reads a Problem from
// such a file gets this variant.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_VARIANTSET_H
#define LLMMEM_PLANNING_MODEL_VARIANTSET_H

#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// What one op costs and holds in a tiling of the step.
struct OpTiling {
  OpIndex op;
  int64_t cost;
  int64_t workspace;
};

/// A tiling lists the ops that differ from the problem.
using Tiling = std::vector<OpTiling>;

struct ProblemVariant {
  Problem problem;
  std::vector<Tiling> tilings;   // at least one
  std::vector<OpIndex> selected; // `Policy::selected`, as ops of this problem
};

enum class VariantSelection : uint8_t {
  ByPlan,    // the cheapest plan decides
  ByOpsOnce, // the alternative whose ops cost least once, in its cheapest tiling, under every
             // budget
};

struct VariantSet {
  std::vector<ProblemVariant> alternatives; // at least one
  VariantSelection choice = VariantSelection::ByPlan;
  /// Whether phases are only guesses. The planner then also tries plans that ignore them.
  bool guessedPhases = false;
  VariantNumber stated; // the variant that a file states

  /// Returns the set of a step that has only one variant.
  LLMMEM_EXPORT static VariantSet only(Problem problem);
  /// Returns the problem of one variant, or nothing where there is no such variant.
  LLMMEM_EXPORT std::optional<Problem> problemOf(VariantNumber variant) const;
  bool hasSeveral() const { return alternatives.size() > 1 || alternatives[0].tilings.size() > 1; }
  /// Gives all variants this budget, or removes their budget.
  LLMMEM_EXPORT void setBudget(std::optional<int64_t> budget);
};

/// Returns `problem` with this tiling.
Problem withTiling(const Problem &problem, const Tiling &tiling);

/// A view of a problem with a tiling, which copies nothing where the tiling changes nothing.
/// `problem` and `tiling` must outlive the view, and the view must outlive the reference that it
/// gives.
class TiledProblem {
public:
  TiledProblem(const Problem &problem, const Tiling &tiling);
  TiledProblem(Problem &&problem, const Tiling &tiling) = delete;
  operator const Problem &() const { return changed ? *changed : *given; }

private:
  const Problem *given;
  std::optional<Problem> changed;
};

/// Reads a llmmem-problem with all its variants, and makes the checks of `parseProblem`.
LLMMEM_EXPORT Result<VariantSet> parseVariantSet(std::string_view json);

/// Returns the JSON of `variants.stated` together with all other variants, or that of the problem
/// alone where it is the only variant.
LLMMEM_EXPORT std::string toJson(const VariantSet &variants);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_VARIANTSET_H
