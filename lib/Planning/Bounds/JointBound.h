//===- JointBound.h - A cost bound from several program points --------------------===//
//
// The program point at which the most saved bytes are live need not be the one with the largest
// footprint: the logits take bytes at the loss, the gradients at the backward of the last block.
// One relaxation over several points, each with its own price per live byte, proves more than the
// best of them alone. docs/Design/Planning.md has the proof.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H

#include "CutNetwork.h"
#include "PriceProgram.h"

namespace llmmem::planning {

class JointBound {
public:
  /// Bounds schedules whose resident bytes and arena are at most `budget` and in which the ops of
  /// `programPoints` first run in this order.
  JointBound(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, int64_t budget);

  /// Returns the lower bound on the cost of recomputation at `prices`, one per program point.
  int64_t at(llvm::ArrayRef<int64_t> prices);
  /// Returns the highest bound of at most `steps` price vectors, starting from `prices`, which
  /// become the best of them. `known` is the cost of some schedule and so limits every bound; it is
  /// the same in each call. The search ends early where no prices prove more than that, or than
  /// `enough`.
  int64_t raise(llvm::SmallVectorImpl<int64_t> &prices, int64_t known, int steps,
                int64_t enough = -1);
  /// Returns the best known limit on what any prices prove.
  int64_t mostProved() const { return most; }

private:
  void addLine(llvm::ArrayRef<int64_t> prices);
  /// Returns the difference that is not worth another step.
  int64_t tolerance() const { return graph.baseCost() >> 20; }

  const Graph &graph;
  CutNetwork network;
  int64_t scale;
  /// Capacities for the bytes live next to the footprint of a program point.
  llvm::SmallVector<int64_t, 4> capacities;
  std::optional<PriceProgram> program; // the choices found so far
  int64_t lastCut = 0, most = INT64_MAX;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_JOINTBOUND_H
