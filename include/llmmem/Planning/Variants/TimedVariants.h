//===- TimedVariants.h - More budget never makes a step with copies longer ------===//
//
// Where copies to a host overlap a plan, its time is not its cost: a plan of less recomputation may
// wait longer for bytes that a copy still holds. A search under a larger budget may then end at a
// longer step. So the plan of a budget does not come from a search under that budget:
//
//  - *Samples* are budgets that depend on the problem alone: one above the footprint of the plan
//    without recomputation, one for each halving of its arena, and the least footprint that was
//    found as the last. The plan of a sample is the shortest one of its own search and of those of
//    all samples below it, whose plans fit as well.
//  - Between two samples the budget is bisected. The plan of the middle is that of its own
//    search where the time lies between those of both ends, and else that of the lower end. The
//    budget gets the plan of the lower end of the last interval.
//
// Claim: of two budgets that are not below the last sample, the larger one never has a longer step.
// Proof: the claim is true of samples, since the candidates of the smaller one are among those of
// the larger one. The upper end of an interval never has a longer step than the lower end, and a
// middle keeps this for both halves. Two budgets either end in one interval, and have the same
// plan, or are separated at a middle: the plan of the smaller one then takes at least as long as
// that of the middle, and the plan of the larger one at most as long. Where costs never rise with
// the budget (Budget/Frontier.h), nor do those of the result: a plan that replaces another one is
// that of a larger sample.
//
// A budget below the last sample has a search of its own, which may still find a plan, because the
// search for the least footprint is a different one. Nothing is promised about its time.
//
// The price is that a budget gets the plan of one that is up to a sixty-fourth of a halving
// smaller, and that a plan of a middle which is shorter than that of the upper end is not used.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_VARIANTS_TIMEDVARIANTS_H
#define LLMMEM_PLANNING_VARIANTS_TIMEDVARIANTS_H

#include "llmmem/Planning/Variants/ProblemVariants.h"

namespace llmmem::planning {

/// Returns the time of the step that a plan makes, as the caller models it: at least the sum of the
/// times of its ops. Returns nothing where that fails.
using TimeOfPlan = std::function<std::optional<int64_t>(const ProblemVariantPlan &)>;

/// Plans as `planVariants` does, and also guarantees that of two budgets the larger one never has a
/// longer step by `timeOf`, down to the least footprint that was found. Bounds are those of the
/// budget itself. Policies that do not depend on the budget are not affected.
ProblemVariantPlan planVariantsByTime(const VariantSet &variants, const PlanOptions &options,
                                      const TimeOfPlan &timeOf);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_VARIANTS_TIMEDVARIANTS_H
