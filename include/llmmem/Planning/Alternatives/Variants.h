//===- Variants.h - One step made of different ops -------------------------===//
//
// A step may be written with other ops that give the same results: two ops, or one that does the
// work of both. Each variant is a problem of its own, with forms of its own (Forms.h); which one
// runs is a choice like any other, the plan of the least total cost that fits.
//
// Example: `h = product(x); a = gelu(h)` costs 10 + 3, both in one op cost 11. With room for a and
// h the second is cheaper; where a is made again from the kept h for 3, and in one op for 11, the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_VARIANTS_H
#define LLMMEM_PLANNING_ALTERNATIVES_VARIANTS_H

#include "llmmem/Planning/Alternatives/Forms.h"

namespace llmmem::planning {

struct Variant {
  Problem problem;
  std::vector<Form> forms;       // at least one
  std::vector<OpIndex> selected; // `Policy::selected`, as ops of this problem
};

/// What is known of a variant afterwards.
struct VariantOutcome {
  /// Not planned where its ops alone cost what the best plan costs: it cannot win.
  bool planned = false;
  Status status = Status::Unknown;
  int64_t cost = 0;  // of the plan; where there is none, proved: no plan costs less
  int64_t peak = 0;  // of the plan; 0 where there is none
  int64_t arena = 0; // of the plan
};

struct VariantPlan {
  size_t variant = 0; // the one that `chosen` is made for
  FormPlan chosen;
  std::vector<VariantOutcome> outcomes; // of all variants, in their order
};

/// Plans each of `variants` (at least one) that can win, and keeps the cheapest plan that is
/// feasible; LeastPeak keeps the smallest arena. Equal plans are decided by the order of the
/// variants. More budget costs no more wherever each variant's plans keep that promise. The bounds
/// of the answer hold for all variants, and `Infeasible` is said where each is proved infeasible;
/// without a feasible plan the answer is that of the variant that came nearest.
VariantPlan planVariants(llvm::ArrayRef<Variant> variants, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_VARIANTS_H
