//===- CutNetwork.h - Cuts in time as a minimum cut --------------------------------===//
//
// Fix ops whose first runs come one after the other in a schedule. At each such *moment* some
// values are live for later steps; a value that a later step reads and that is not live must be
// recomputed after the moment. With a price per live byte at each moment, the least of recompute
// cost + prices x bytes over all schedules is no less than a minimum cut (Picard, "Maximal closure
// of a graph", 1976, with a choice at each value).
//
// The network has one level per moment. A value's node is on the source's side if the value is
// needed after the moment, an op's node if the op runs again after the moment.
//
// clang-format off
//   source -> value        infinite        needed by an op that first runs after the moment
//   value -> writer        price x bytes   needed, and its writer does not run again: it is held
//   value -> sink          price x bytes   needed, and no writer may run again: it is held
//   op -> sink             cost            runs again; at the first moment before which it first ran
//   op -> operand          infinite        runs again, so its operands are needed
//   op, value -> the same  infinite        needed or run after a moment, so also after the one before
//     one moment earlier
// clang-format on
//
// The same cut has fewer nodes: a value that is needed for sure is the source itself, one that a
// single op needs is that op, and one of 0 bytes costs nothing to hold, so it is left out.
//
// Example: f writes a, t1 and t2 follow, then b reads a. Either a is held at both moments, at both
// prices, or f runs again, at its cost once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_CUTNETWORK_H
#define LLMMEM_LIB_PLANNING_BOUNDS_CUTNETWORK_H

#include "MaxFlow.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem::planning {

class CutNetwork {
public:
  /// The first `numPriced` of the `moments` are levels; the others only say what first runs later.
  /// No moment may be an ancestor of one before it.
  CutNetwork(const Graph &graph, llvm::ArrayRef<OpIndex> moments, size_t numPriced);

  /// The minimum cut where each cost counts `costFactor` times and a byte held at moment k
  /// prices[k].
  int64_t solve(llvm::ArrayRef<int64_t> prices, int64_t costFactor);

  /// What is held at the first moment where nothing runs again, beside its op's own operands and
  /// results.
  int64_t neededBytes() const;

  /// After `solve`: what is held at a moment beside its op's own operands and results, without
  /// values of 0 bytes.
  std::vector<ValueIndex> held(size_t moment) const;
  int64_t heldBytes(size_t moment) const;
  /// After `solve`, per op: runs again after the first moment.
  std::vector<bool> repeated() const;

  /// As in the table above, whatever node stands for a value.
  struct Arc {
    enum Kind : uint8_t { Needed, Held, ValueBefore, OpBefore, Repeated, Read } kind;
    size_t level;
    int32_t from, to;
    OpIndex op;       // -1: none
    ValueIndex value; // -1: none
  };
  /// After `solve`: what flows, which proves that no cut is smaller.
  void forEachFlow(llvm::function_ref<void(const Arc &, int64_t amount)> visit) const;

private:
  struct Level {
    OpIndex moment;
    std::vector<bool> before;                   // ops that first run before the moment, per op
    std::vector<int32_t> nodeOfValue, nodeOfOp; // -1 for none
    std::vector<OpIndex> onlyReader;            // whose node is the value's as well; -1: none
    std::vector<ValueIndex> values;             // with a node, those needed for sure first
    std::vector<OpIndex> ops;                   // with a node
    size_t numNeeded = 0;
  };
  struct PricedArc {
    int32_t arc;
    int64_t bytes;
    size_t level;
    int64_t amount = 0; // of the last `solve`, where it has no arc
  };
  struct CostArc {
    int32_t arc;
    int64_t cost;
  };
  void addLevel(size_t index, llvm::ArrayRef<OpIndex> later);
  void addNodes(Level &level, const std::vector<bool> &after, const Level *next);
  void numberNodes(Level &level, const Level *next);
  void reserveArcs();
  void addArcs();
  template <typename Visit>
  void forEachArc(Visit visit) const;
  int32_t targetOf(const Level &level, ValueIndex value) const;
  bool counts(const Level &level, ValueIndex value) const;
  static void addValue(Level &level, ValueIndex value);
  void needValue(Level &level, ValueIndex value);
  void needOp(Level &level, OpIndex op);
  bool runsAgain(const Level &level, OpIndex op) const;
  bool isHeld(const Level &level, ValueIndex value) const;

  const Graph &graph;
  llvm::SmallVector<Level, 2> levels;
  std::vector<PricedArc> pricedArcs;
  std::vector<CostArc> costArcs;
  std::vector<PricedArc> unavoidable; // what is held at any price; without an arc
  int32_t numNodes = 2;               // source 0, sink 1
  bool hasArcs = false;               // from the first `solve` on
  int64_t lastCostFactor = 0;         // of the last `solve`
  MaxFlow flow;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_CUTNETWORK_H
