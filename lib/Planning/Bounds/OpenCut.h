//===- OpenCut.h - What a moment forces when the other ops may stand on either side ----===//
//
// The cut in time of CutNetwork.h leaves out what is neither an ancestor nor a descendant of the
// moment. In a step of training that is little; in a graph of crossing layers it is most of what is
// live. Here such an op first runs before the moment or after it, whichever holds less: one more
// choice of the same minimum cut. docs/Design/Planning.md has the proof.
//
//   source -> op's again    infinite        a descendant: runs after the moment
//   source -> value         infinite        kept to the end
//   again  -> value         infinite        runs after the moment, so reads its operand there
//   value  -> again         price x bytes   of its writer, which does not: the value is held
//   again  -> later         cost            of the same op, which first ran before: a repeat
//   later  -> again         infinite        what first runs after the moment runs after it
//   later  -> later         infinite        of a reader, which first runs after what it reads
//   later  -> sink          infinite        an ancestor: first ran before the moment
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
  OpenCut(const Graph &graph, OpIndex moment);

  /// A proved lower bound on the cost of recomputation of any schedule whose resident bytes and
  /// arena are at most `budget`; nothing where none fits.
  std::optional<int64_t> costLowerBound(int64_t budget);

  /// Bytes, resident ones included, that every schedule without a repeat holds at the moment.
  int64_t bytesWithoutRepeats();

private:
  struct Choice {
    int64_t cost = 0, bytes = 0; // of repeats; held beside the moment's own
  };
  struct PricedArc {
    int32_t arc;
    ValueIndex value;
  };
  Choice choose(int64_t price, int64_t costFactor, int64_t &value);
  void addOps();
  void addValues();
  bool counts(ValueIndex value) const;
  int32_t laterOf(OpIndex op) const { return 2 + op; }
  int32_t againOf(OpIndex op) const { return 2 + graph.numOps() + op; }
  int32_t nodeOf(ValueIndex value) const { return 2 + 2 * graph.numOps() + value; }

  const Graph &graph;
  OpIndex moment;
  MaxFlow flow;
  std::vector<int32_t> costArcs; // by op; -1: none
  std::vector<PricedArc> pricedArcs;
};

/// Raises the cost's bound of `plan` by what the fullest moments of its schedule prove of every
/// other.
void raiseByOpenCuts(const Graph &graph, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_OPENCUT_H
