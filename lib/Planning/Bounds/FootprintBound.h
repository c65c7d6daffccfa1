//===- FootprintBound.h - The bytes that every plan needs ------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_FOOTPRINTBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_FOOTPRINTBOUND_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// A bound: every plan takes `bytes`, resident bytes and arena.
struct FootprintBound {
  int64_t bytes = 0;
  OpIndex op = -1;                    // the op where they are held; -1: the resident bytes alone
  std::vector<ValueIndex> heldValues; // the op's own operands and results, without duplicates
  BoundBasis basis{BoundBasis::Kind::OneOp, {}, {}};
};

/// Returns the largest footprint of one op, in no time.
FootprintBound footprintOfOneOp(const Graph &graph);
/// Returns the most that is proved by what must be held at the first run of an op (CutNetwork.h),
/// or at the last run of some large ops (LastRunCut.h). `steps` is any schedule, the fewer bytes it
/// holds the better. What it holds at a program point is the most that can be proved there, so the
/// minimum cuts of most points are left alone.
FootprintBound footprintOfEverySchedule(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_FOOTPRINTBOUND_H
