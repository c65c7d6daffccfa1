//===- CutNetwork.h - Cuts in time as a minimum cut --------------------------------===//
//
// Fix ops whose first runs come one after the other in a schedule. At each such program point some
// values are live for later steps; a value that a later step reads and that is not live must be
// recomputed after the point. With a price per live byte at each point, the least of recompute cost
// + prices x bytes over all schedules is no less than a minimum cut (Picard, "Maximal closure of a
// graph", 1976, with a choice at each value).
//
// The network has one level per program point. A value's node is on the source's side if the value
// is needed after the point, an op's node if the op runs again after the point.
//
// clang-format off
//   source -> value        infinite        needed by an op that first runs after the point
//   value -> writer        price x bytes   needed, and its writer does not run again: it is held
//   value -> sink          price x bytes   needed, and no writer may run again: it is held
//   op -> sink             cost            runs again; at the first point before which it first ran
//   op -> operand          infinite        runs again, so its operands are needed
//   op, value -> the same  infinite        needed or run after a point, so also after the one before
//     one point earlier
// clang-format on
//
// The same cut has fewer nodes: a value that is needed for sure is the source itself, one that a
// single op needs is that op, and one of 0 bytes costs nothing to hold, so it is left out.
//
// Example: f writes a, t1 and t2 follow, then b reads a. Either a is held at both points, at both
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
  /// The first `numPriced` of the `programPoints` are levels; the others only say what first runs
  /// later. None of them may be an ancestor of one before it.
  CutNetwork(const Graph &graph, llvm::ArrayRef<OpIndex> programPoints, size_t numPriced);

  /// Returns the minimum cut where each cost counts `costFactor` times and a byte held at program
  /// point k costs prices[k].
  int64_t solve(llvm::ArrayRef<int64_t> prices, int64_t costFactor);

  /// Returns what is held at the first program point where nothing runs again, without its op's own
  /// operands and results.
  int64_t neededBytes() const;

  /// Returns, after `solve`, what is held at a program point without its op's own operands and
  /// results and without values of 0 bytes.
  std::vector<ValueIndex> held(size_t programPoint) const;
  int64_t heldBytes(size_t programPoint) const;
  /// Returns, after `solve` and per op, whether it runs again after the first program point.
  std::vector<bool> repeated() const;

  /// An arc as in the table above, whatever node represents a value.
  struct Arc {
    enum Kind : uint8_t { Needed, Held, ValueBefore, OpBefore, Repeated, Read } kind;
    size_t level;
    int32_t from, to;
    OpIndex op;       // -1: none
    ValueIndex value; // -1: none
  };
  /// Visits, after `solve`, what flows. It proves that no cut is smaller.
  void forEachFlow(llvm::function_ref<void(const Arc &, int64_t amount)> visit) const;

private:
  struct Level {
    OpIndex programPoint;
    std::vector<bool> before; // per op: whether it first runs before the program point
    std::vector<int32_t> nodeOfValue, nodeOfOp; // -1 for none
    std::vector<OpIndex> onlyReader; // the only reader, whose node is the value's as well; -1: none
    std::vector<ValueIndex> values;  // values with a node, those that are surely needed first
    std::vector<OpIndex> ops;        // ops with a node
    size_t numNeeded = 0;
  };
  struct PricedArc {
    int32_t arc;
    int64_t bytes;
    size_t level;
    int64_t amount = 0; // amount of the last `solve`, where it has no arc
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
  void requireValue(Level &level, ValueIndex value);
  void requireOp(Level &level, OpIndex op);
  bool runsAgain(const Level &level, OpIndex op) const;
  bool isHeld(const Level &level, ValueIndex value) const;

  const Graph &graph;
  llvm::SmallVector<Level, 2> levels;
  std::vector<PricedArc> pricedArcs;
  std::vector<CostArc> costArcs;
  std::vector<PricedArc> unavoidable; // what is held at any price; without an arc
  int32_t numNodes = 2;               // source 0, sink 1
  bool hasArcs = false;               // from the first `solve` on
  int64_t lastCostFactor = 0;         // the factor of the last `solve`
  MaxFlow flow;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_CUTNETWORK_H
