//===- JointBound.h - A cost bound from several moments together ------------------===//
//
// The moment at which the most saved bytes are live need not be the one with the largest footprint:
// the logits take bytes at the loss, the gradients at the backward of the last block. One
// relaxation over several moments, each with its own price per live byte, proves more than the best
// of them alone. docs/Design/Planning.md has the proof.
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

  /// The lower bound on the cost of recomputation at `prices`, one per moment.
  int64_t at(llvm::ArrayRef<int64_t> prices);
  /// The highest bound of about `steps` price vectors, starting from `prices`, which become the
  /// best of them. `known` is the cost of some schedule and so limits every bound.
  int64_t raise(llvm::SmallVectorImpl<int64_t> &prices, int64_t known, int steps);

private:
  int64_t heldBytes(size_t moment) const;

  const Graph &graph;
  CutNetwork network;
  int64_t scale;
  llvm::SmallVector<int64_t, 4> capacities; // for the bytes live beside a moment's footprint
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H
