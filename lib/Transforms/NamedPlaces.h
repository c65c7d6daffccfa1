//===- NamedPlaces.h - The places of a plan, by op, run and result ----------===//
//
// `plan-checkpoints` writes where each result of each run of its schedule lies, and each workspace,
// as `llm.places`; `apply-checkpoints` looks each up by its name: the `llm.id` of the op (the
// number in the schedule, of a copy to or from the host), the number of the run and that of the
// result. The order of the entries says nothing. A result whose bytes are an argument's has no
// place.
//
// What the plan and the step do not have in common is an error that says what was expected: the
// step was edited between the two passes, or the attribute was.
//
// Example: op 0 of the schedule [0, 1, 0] runs twice and writes 2,048 bytes each time:
//
//   llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 2048, offset = 4096>,
//                 #llm.place<op = 1, instance = 0, result = 0, bytes = 4096, offset = 0>,
//                 #llm.place<op = 0, instance = 1, result = 0, bytes = 2048, offset = 6144>]
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_NAMEDPLACES_H
#define LLMMEM_LIB_TRANSFORMS_NAMEDPLACES_H

#include "llmmem/Analysis/ProblemExtraction.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem {

/// Is the end of every message about a step and a plan that do not fit each other.
inline constexpr llvm::StringLiteral kPlanItAgain =
    "the step was edited after plan-checkpoints: plan it again";

/// Writes `llm.places` on `step`. `schedule` has the number in the schedule of each of the plan's
/// steps.
void writeNamedPlaces(mlir::func::FuncOp step, const ExtractedProblem &extracted,
                      const StepStorage &storage, const planning::Plan &plan,
                      llvm::ArrayRef<int64_t> schedule);

/// Says what a run needs places for.
struct RunFootprint {
  mlir::Operation *op; // that runs or, of a copy, that wrote the value: for diagnostics
  llvm::SmallVector<std::optional<int64_t>, 1> results; // bytes; none where they are another's
  int64_t workspace = 0;                                // bytes
};

/// Holds the offsets of what a run needs.
struct RunPlaces {
  llvm::SmallVector<std::optional<int64_t>, 1> results;
  std::optional<int64_t> workspace;
};

/// Returns the places of `step` for each position of `schedule`, whose numbers are below
/// `footprints.size()`; `footprints` is of any run of each number. Fails, after a located
/// diagnostic, where a place is missing, named twice, of other bytes, or of nothing that the
/// schedule runs.
llvm::FailureOr<std::vector<RunPlaces>> findNamedPlaces(mlir::func::FuncOp step,
                                                        llvm::ArrayRef<int64_t> schedule,
                                                        llvm::ArrayRef<RunFootprint> footprints);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_NAMEDPLACES_H
