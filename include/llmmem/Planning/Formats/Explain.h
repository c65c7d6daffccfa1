//===- Explain.h - Why a plan keeps what it keeps ------------------------------===//

#ifndef LLMMEM_PLANNING_FORMATS_EXPLAIN_H
#define LLMMEM_PLANNING_FORMATS_EXPLAIN_H

#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// What a plan does with one saved value. Such a value has bytes (Model/Decisions.h); in a
/// problem without phases, it is any value that is live at a step which does not use it.
struct ExplainedValue {
  ValueIndex value;
  int64_t bytes;
  int32_t runs;      // runs of its writer; 1: the value is kept
  int32_t stepsHeld; // over all instances
  int32_t stepsIdle; // kept: steps of the longest idle range, between two uses. recomputed: steps
                     // without it in between
  int64_t otherCost; // kept: cost of recomputing it after that range, with all that is no longer
                     // held there. recomputed: cost that keeping it would save
  bool canRecompute; // kept: its writer may run again
};

/// Returns the saved values by bytes, largest first.
LLMMEM_EXPORT std::vector<ExplainedValue> explainPlan(const Problem &problem, const Plan &plan);

/// Returns one line for each saved value, for people.
LLMMEM_EXPORT std::string explanationText(const Problem &problem,
                                          const std::vector<ExplainedValue> &saved);

/// The reason why an op runs again at a step: a value that it wrote before was evicted, and
/// something took the room. The steps of a plan imply all of it.
///
/// Example: up act down loss act back, where `back` at step 5 reads what `act` writes. `down` at
/// step 2 used it last, and in between the workspace of `loss` at step 3 is what it makes room for.
struct RepeatReason {
  ValueIndex value; // the value that the step writes again
  int32_t lastUse;  // the last step that used the instance before
  int32_t reader;   // the first step that reads it then; the number of steps where it is kept
  int32_t fullest;  // the fullest of the steps in between; -1: there is none
  int64_t bytes;    // held at `fullest`, resident included
  std::optional<ValueIndex>
      roomFor;       // the largest value that is held there and was not held at `lastUse`
  int64_t workspace; // workspace of the op at `fullest`, where that is larger; else 0
};

/// Returns one reason for each value of bytes that the step writes again, and none where its op
/// runs for the first time.
LLMMEM_EXPORT std::vector<RepeatReason> reasonsOfRepeat(const Problem &problem, const Plan &plan,
                                                        int32_t step);

/// Explains what `name` asks for. For the name of a value or an op, the text says why the value, or
/// what the op writes, is kept or recomputed, what the other choice would cost, whether it is held
/// at the peak, and what each repeat makes room for. For step:N it says why that step runs. A name
/// that does not exist is an error.
LLMMEM_EXPORT Result<std::string> explainNamed(const Problem &problem, const Plan &plan,
                                               std::string_view name);

/// Says where the peak is, and lists the largest values that are held there.
LLMMEM_EXPORT std::string peakText(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_FORMATS_EXPLAIN_H
