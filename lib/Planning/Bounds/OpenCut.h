//===- OpenCut.h - A cut in time that orders unrelated ops itself --------------------===//
//
// The cut in time of CutNetwork.h ignores ops that are neither ancestors nor descendants of the op
// at its program point. In a training step they write few bytes; in a graph of crossing layers they
// write most of the live bytes. Here such an op first runs before the point or after it, whichever
// holds less: one more choice of the same minimum cut. docs/Design/Planning.md has the proof.
//
//   source -> op's again    infinite        a descendant: runs after the point
//   source -> value         infinite        kept to the end
//   again  -> value         infinite        runs after the point, so reads its operand there
//   value  -> again         price x bytes   of its writer, which does not: the value is held
//   again  -> later         cost            of the same op, which first ran before: a repeat
//   later  -> again         infinite        what first runs after the point runs after it
//   later  -> later         infinite        of a reader, which first runs after what it reads
//   later  -> sink          infinite        an ancestor: first ran before the point
//
// Example: a and b, 8 bytes each, and t read x; c reads all three results. At t, a and b may both
// be still to come: nothing is held. After a, which b and t also read, something is.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_OPENCUT_H
#define LLMMEM_LIB_PLANNING_BOUNDS_OPENCUT_H

#include "MaxFlow.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"
#include <optional>

namespace llmmem::planning {

class OpenCut {
public:
  OpenCut(const Graph &graph, OpIndex programPoint);

  /// Returns a proved lower bound on the cost of recomputation of any schedule whose resident bytes
  /// and arena are at most `budget`, or nothing where none fits.
  std::optional<int64_t> costLowerBound(int64_t budget);
  /// Returns the price that proves what the last costLowerBound returned.
  int64_t bestPrice() const { return best; }

  /// Returns a lower bound on the bytes, resident ones included, that a schedule without repeats
  /// holds at the program point.
  int64_t bytesWithoutRepeats();

  struct Arc {
    enum Kind : uint8_t { First, Descendant, Ancestor, Repeated, Order, Kept, Read, Held } kind;
    int32_t from, to;
    OpIndex op;       // -1: none
    ValueIndex value; // -1: none
  };
  /// Returns the minimum cut where each cost counts `costFactor` times and a byte costs `price`.
  int64_t solveAt(int64_t price, int64_t costFactor);
  /// Visits, after a solution, what flows. It proves that no cut is smaller.
  void forEachFlow(llvm::function_ref<void(const Arc &, int64_t amount)> visit) const;

private:
  struct Choice {
    int64_t cost = 0, bytes = 0; // cost of repeats; bytes held next to the op's own
  };
  struct PricedArc {
    int32_t arc;
    ValueIndex value;
  };
  Choice choose(int64_t price, int64_t costFactor, int64_t &value);
  void addArcs();
  void forEachArc(llvm::function_ref<void(const Arc &)> visit) const;
  bool counts(ValueIndex value) const;
  int32_t laterOf(OpIndex op) const { return 2 + op; }
  int32_t againOf(OpIndex op) const { return 2 + graph.numOps() + op; }
  int32_t nodeOf(ValueIndex value) const { return 2 + 2 * graph.numOps() + value; }

  const Graph &graph;
  OpIndex programPoint;
  MaxFlow flow;
  std::vector<int32_t> costArcs; // by op; -1: none
  std::vector<PricedArc> pricedArcs;
  int64_t best = 0; // the best price
};

/// Raises the lower bound on the cost of `plan` by open cuts at the fullest program points of its
/// schedule.
void raiseByOpenCuts(const Graph &graph, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_OPENCUT_H
