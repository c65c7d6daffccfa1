//===- FixedPolicies.h - Policies that do not look at the budget ------------===//
//
// Each policy says what a step holds (Schedulers/Recompute.h). It is one file here and one line of
// the table in Policies.cpp. `plan` places the steps and adds the certificate.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H
#define LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H

#include "llmmem/Planning/Policies/Policies.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

namespace llmmem::planning {

void keepEverything(const Graph &graph, const Chain &chain, const Policy &policy,
                    Retention &retention);
void keepEveryKth(const Graph &graph, const Chain &chain, const Policy &policy,
                  Retention &retention);
void keepEverySqrt(const Graph &graph, const Chain &chain, const Policy &policy,
                   Retention &retention);
void keepBlockInputs(const Graph &graph, const Chain &chain, const Policy &policy,
                     Retention &retention);
void recomputeSelected(const Graph &graph, const Chain &chain, const Policy &policy,
                       Retention &retention);

/// Discards the parameters that blocks gather from other ranks.
void gatherAgain(const Graph &graph, const Chain &chain, Retention &retention);

/// Says for each op whether it gives a parameter in another form: it gathers, casts or views one,
/// or what such ops give.
std::vector<bool> opsOfParameters(const Graph &graph);

/// Says for each stage of the chain whether it is a block in which the policy recomputes.
std::vector<bool> chosenBlocks(const Chain &chain, const Policy &policy);

/// Discards values of the forward so that each is recomputed once.
class RecomputeOnce {
public:
  RecomputeOnce(const Graph &graph, const Chain &chain, Retention &retention);

  /// Discards `value` of a group of stages, which is recomputed when the backward of the last of
  /// them begins, and held from then on. Weight gradients that run later, as in a zero-bubble
  /// pipeline, read it again; what they alone read is recomputed as early, else what it is made of
  /// would be held for them.
  void discard(ValueIndex value, int32_t firstStage, int32_t lastStage);

private:
  const Chain &chain;
  Retention &retention;
  std::vector<int32_t> firstRead; // the first segment of the backward in which each value is read
};

/// Returns the steps of `decide`. Where several micro-batches run, they are those of one, written
/// out for all: their forwards and backwards alternate, so the whole order is not the single
/// forward and backward that a policy looks for.
std::vector<OpIndex> decideFixed(FixedPolicy decide, const Graph &graph, const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H
