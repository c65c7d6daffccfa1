//===- Explain.h - Why a plan keeps what it keeps ------------------------------===//

#ifndef LLMMEM_PLANNING_FORMATS_EXPLAIN_H
#define LLMMEM_PLANNING_FORMATS_EXPLAIN_H

#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// What a plan did with one saved value: one of bytes (Model/SavedValues.h), or, in a problem
/// without phases, any value that is live at a step which does not use it.
struct SavedValue {
  ValueIndex value;
  int64_t bytes;
  int32_t runs;      // of its writer; 1: kept
  int32_t stepsHeld; // over all instances
  int32_t stepsIdle; // kept: steps of the longest idle range, between two uses. recomputed: steps
                     // without it in between
  int64_t otherCost; // kept: cost of recomputing it after that range, with all that is no longer
                     // held there. recomputed: cost that keeping it would save
  bool canRecompute; // kept: its writer may run again
};

/// By bytes, largest first.
LLMMEM_EXPORT std::vector<SavedValue> explainPlan(const Problem &problem, const Plan &plan);

/// One line for each saved value, for people.
LLMMEM_EXPORT std::string explanationText(const Problem &problem,
                                          const std::vector<SavedValue> &saved);

/// Why a value, or what an op writes, is kept or run again, what the other choice would cost, and
/// whether it is held at the peak; `name` is that of a value or an op. Nothing where there is none.
LLMMEM_EXPORT std::optional<std::string> explainNamed(const Problem &problem, const Plan &plan,
                                                      std::string_view name);

/// Where the peak is, and the largest values that are held there.
LLMMEM_EXPORT std::string peakText(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_FORMATS_EXPLAIN_H
