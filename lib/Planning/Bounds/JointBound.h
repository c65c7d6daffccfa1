//===- JointBound.h - What several moments prove together -------------------------===//
//
// The moment at which most is held for later need not be the one that leaves the least room: the
// loss lacks what its logits take, the backward of the last block what its gradients take. One
// relaxation over several moments, each with a price of its own for what it holds, proves more than
// the best of them alone. docs/Design/Planning.md has the proof.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H

#include "CutNetwork.h"

namespace llmmem::planning {

class JointBound {
public:
  /// For schedules whose resident bytes and arena are at most `budget` and in which the moments
  /// first run in this order.
  JointBound(const Graph &graph, llvm::ArrayRef<OpIndex> moments, int64_t budget);

  /// What `prices`, one per moment, prove about the cost of recomputation.
  int64_t at(llvm::ArrayRef<int64_t> prices);
  /// The most that about `steps` prices prove, from `prices` on, which become the best of them.
  /// `known` is what some schedule pays: there is nothing to prove beyond.
  int64_t raise(llvm::SmallVectorImpl<int64_t> &prices, int64_t known, int steps);

private:
  int64_t heldBytes(size_t moment) const;

  const Graph &graph;
  CutNetwork network;
  int64_t scale;
  llvm::SmallVector<int64_t, 4> capacities; // for what a moment holds beside its own
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H
