//===- LastRunCut.h - What is held when large ops run for the last time --------------===//
//
// The cuts of CutNetwork.h look at the first run of an op. In a step that keeps its gradients, most
// bytes are held at the other end: when the last block's backward is over, all other gradients are
// there. This bound looks at the last run of a set of ops. One of them, t, ends it, and then none
// of the set runs again. So what is kept to the end and cannot be made without them is held while t
// runs. As repeats are free, the least of that is a minimum cut:
//
//   source -> value     infinite   kept to the end
//   value  -> writer    bytes      which runs after t; else the value is held
//   value  -> sink      bytes      an input's, or of a writer that cannot run after t: held
//   op     -> operand   infinite   runs after t, so reads its operands there
//
// Whichever op of the set t is, every schedule holds the least over the set of footprint(t) and the
// cut at it. docs/Design/Planning.md has the proof.
//
// Example: two blocks with gradients g2 and g1 of 8 bytes, both kept. The backward of either has a
// workspace of 20 bytes, and the set is the two of them. The one that runs last runs while the
// other one's gradient is held: 20 + 8 + 8 bytes, where one op alone has 28.
//
//===----------------------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_LASTRUNCUT_H
#define LLMMEM_LIB_PLANNING_BOUNDS_LASTRUNCUT_H

#include "MaxFlow.h"
#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

class LastRunCut {
public:
  /// `set` holds the ops of which none runs after the program point.
  LastRunCut(const Graph &graph, llvm::ArrayRef<OpIndex> set);

  /// Says whether `last` may be the last of the set. It may not where it runs once and another one
  /// runs after it.
  bool mayBeLast(OpIndex last) const;
  /// Returns the bytes, resident ones included, that every schedule holds in which `last` is the
  /// last of the set. It may end sooner with some number that they hold and that is no less than
  /// `enough`.
  int64_t footprintAt(OpIndex last, int64_t enough = INT64_MAX);
  /// Says whether one flow may prove something of several ops (provedAt).
  bool isSameForAll() const { return once.empty(); }
  /// Solves the cut at no op in particular.
  void solveAtNoOp();
  /// Returns the bound of the last flow for an op of the set, which is no more than its own
  /// `footprintAt`.
  int64_t provedAt(OpIndex op) const;

  /// Returns, after `footprintAt` without `enough`, what is held in addition to the last op's own
  /// operands and results.
  std::vector<ValueIndex> held() const;

  struct Arc {
    enum Kind : uint8_t { Kept, Held, Read } kind;
    int32_t number; // number in the flow
    OpIndex op;     // for Read: the op of which `value` is an operand; else -1
    ValueIndex value;
  };
  /// Visits, after `footprintAt`, what flows. It proves that no cut is smaller.
  void forEachFlow(llvm::function_ref<void(const Arc &, int64_t amount)> visit) const;

private:
  struct Once { // an op outside of the set that may not run twice
    OpIndex op;
    int32_t toSink; // carries any amount where it cannot run after the program point
    llvm::SmallVector<int32_t, 4> toRead; // carries nothing there
  };
  /// Returns the number of the next node. The source has 0 and the sink 1.
  int32_t nextNode() const { return static_cast<int32_t>(2 + values.size() + ops.size()); }
  void requireValue(ValueIndex value);
  void addNodes();
  void addArcs();
  void setProgramPoint(OpIndex last);
  llvm::SmallVector<ValueIndex, 8> touchedBy(OpIndex op) const;

  const Graph &graph;
  std::vector<bool> inSet;
  std::vector<int32_t> nodeOfValue, nodeOfOp, heldArc; // -1: none
  std::vector<ValueIndex> values;                      // values with a node, those kept first
  std::vector<OpIndex> ops;                            // ops with a node
  std::vector<Once> once;
  std::vector<Arc> arcs;
  MaxFlow flow;
  OpIndex programPoint = -1; // the last op, whose own values count nothing
  int64_t total = 0;         // the amount that flows
};

/// Returns the bytes, resident ones included, that every schedule holds when `set` has run.
int64_t footprintAtLastRun(const Graph &graph, llvm::ArrayRef<OpIndex> set);

/// The set of ops whose last runs prove the most, and the bytes that they prove.
struct LastRunBound {
  int64_t bytes = 0; // resident ones included
  std::vector<OpIndex> ops;
  OpIndex last = -1; // the op where the least is held
};

/// Returns the highest bound of sets of the ops with the largest footprints, or no ops where none
/// proves more than `known` bytes. `steps` is any schedule, the fewer bytes it holds the better,
/// and `usage` is what it holds.
LastRunBound lastRunBound(const Graph &graph, llvm::ArrayRef<OpIndex> steps, const Profile &usage,
                          int64_t known);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_LASTRUNCUT_H
