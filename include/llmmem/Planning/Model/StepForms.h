//===- StepForms.h - The forms that one step can take -----------------------===//
//
// One step can run in several forms that give the same results: made of other ops (two ops, or one
// that does the work of both), and with other tilings of an op that works in chunks. A problem is
// the step in one form; StepForms are all that a plan may choose from.
//
// A llmmem-problem carries them in addition to the form that it states (docs/Design/Planning.md,
// "Forms"):
//
//   "forms": [{"tilings": [[], [{"op": 7, "cost": 12, "workspace": 25}]]},
//             {"tilings": [[]], "values": [...], "ops": [...], "keep": [...]}]
//
// The one entry without ops is the form that the file states. A reader of a Problem reads that one
// from such a file.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_STEPFORMS_H
#define LLMMEM_PLANNING_MODEL_STEPFORMS_H

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

struct AlternativeProblem {
  Problem problem;
  std::vector<Tiling> tilings;   // at least one
  std::vector<OpIndex> selected; // `Policy::selected`, as ops of this problem
};

enum class AlternativeChoice : uint8_t {
  ByPlan,    // the cheapest plan decides
  ByOpsOnce, // the least cost of all ops once, in the cheapest tiling; it is the same under every
             // budget
};

struct StepForms {
  std::vector<AlternativeProblem> alternatives; // at least one
  AlternativeChoice choice = AlternativeChoice::ByPlan;
  /// Whether phases are guesses and no facts; a plan without them is then tried, too.
  bool guessedPhases = false;
  FormNumber stated; // the form that a file states

  /// Returns the forms of a step that has only one.
  LLMMEM_EXPORT static StepForms only(Problem problem);
  /// Returns the step in one form, or nothing where there is no such form.
  LLMMEM_EXPORT std::optional<Problem> problemOf(FormNumber form) const;
  bool hasSeveral() const { return alternatives.size() > 1 || alternatives[0].tilings.size() > 1; }
  /// Gives all forms this budget, or none.
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

/// Reads a llmmem-problem with all forms that it carries, as `parseProblem` reads one.
LLMMEM_EXPORT Result<StepForms> parseStepForms(std::string_view json);

/// Returns the JSON of `forms.stated` together with all other forms, or that of the problem alone
/// where it is the only form.
LLMMEM_EXPORT std::string toJson(const StepForms &forms);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_STEPFORMS_H
