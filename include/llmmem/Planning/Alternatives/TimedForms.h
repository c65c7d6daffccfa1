//===- TimedForms.h - More budget never makes a step with copies longer ---------===//
//
// Where copies to a host run beside a plan, its time is not its cost: a plan of less recomputation
// may wait longer for bytes that a copy still holds. A search under a larger budget may then end at
// a longer step. So no budget is answered by a search of its own:
//
//  - *Samples* are budgets that depend on the problem alone: some above what the plan without
//    recomputation needs, then one for each halving of its arena, and the least need that was found
//    is the last. A sample is answered by the shortest plan of its own search and those of all
//    samples below it, whose plans fit as well.
//  - Between two samples the budget is bisected. The middle is answered by its own search where
//    that plan's time lies between those of both ends, else as the lower end is. The answer is that
//    of the lower end of the last interval.
//
// Claim: of two budgets, neither below the last sample, the larger has no longer step. Proof:
// samples hold it, since the answers of the smaller are among those of the larger. Of an interval
// the upper end has no longer step than the lower one; a middle keeps that of both halves. Two
// budgets either end in one interval, and have one answer, or part at a middle: the smaller is then
// answered by a plan that takes at least as long as the middle's, the larger by one that takes at
// most as long. Where costs never rise with the budget (Budget/Frontier.h), nor do those of the
// answers: an answer that is taken in the place of another is of a larger sample.
//
// A budget below the last sample is answered by a search of its own, which may still find a plan:
// the search for the least need is another one. Of its time nothing is promised.
//
// The price: a budget is answered as one up to a sixty-fourth of a halving below it, and a plan in
// the middle that is shorter than the upper end's is not used.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_TIMEDFORMS_H
#define LLMMEM_PLANNING_ALTERNATIVES_TIMEDFORMS_H

#include "llmmem/Planning/Alternatives/AlternativeProblems.h"

namespace llmmem::planning {

/// The time of the step that a plan makes, as whoever runs it models it, no less than its ops take
/// one after another; nothing where that fails.
using TimeOfPlan = std::function<std::optional<int64_t>(const AlternativePlan &)>;

/// As `planForms`, but that of two budgets the larger never has a longer step by `timeOf`, down to
/// the least need that was found. Bounds are those of the budget itself. Policies that do not look
/// at the budget are as they are.
AlternativePlan planFormsByTime(const StepForms &forms, const PlanOptions &options,
                                const TimeOfPlan &timeOf);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_TIMEDFORMS_H
