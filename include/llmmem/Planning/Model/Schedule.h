//===- Schedule.h - Cost and live bytes of an execution order ----------------===//
//
// A schedule is a list of ops with repeats, as in Plan::steps. An instance of a value lives from
// the step that writes it to its last read before it is written again. `profile` computes the bytes
// that a schedule holds at each step.
//
// Example: in a(4) -> f -> b(4) -> g -> c(4) the steps f and g hold 8 bytes each, and the peak
// is 8.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_SCHEDULE_H
#define LLMMEM_PLANNING_MODEL_SCHEDULE_H

#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Compiler.h"

namespace llmmem::planning {

/// One instance of a value. The step `from` writes it (-1: an input), and it is held through step
/// `to` (the number of steps where it is kept).
struct Instance {
  ValueIndex value;
  int32_t from;
  int32_t to;
};

struct Profile {
  int64_t peak = 0; // sizes rounded up to the alignment, resident included
  int64_t cost = 0;
  int32_t peakStep = -1;
  std::vector<int64_t> bytes; // held while each step runs, resident included
};

/// Returns the program order, every op once.
std::vector<OpIndex> givenOrder(const Graph &graph);

/// Returns all instances of `steps`, sorted by the step that writes them, inputs first.
std::vector<Instance> instances(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

/// Returns the bytes that the results of one run of `op` take from operands that die there.
int64_t sharedBytes(const Graph &graph, const Op &op, llvm::function_ref<bool(ValueIndex)> dies);

/// Computes what a schedule holds at each step, from its last step to its first. So a value's last
/// read comes before the others, and no instance needs to be listed. A copy of a scan continues
/// independently.
class BackwardScan {
public:
  explicit BackwardScan(const Graph &graph);

  /// Returns the bytes held, resident included, while `op` runs just before the steps visited so
  /// far. It has no branches, since it is called for each step of every schedule that a search
  /// tries.
  LLVM_ATTRIBUTE_ALWAYS_INLINE int64_t visit(OpIndex op) {
    Liveness *const liveness = livenessOf.data();
    int64_t now = live;
    for (ValueIndex value : graph->writes(op)) {
      now -= graph->bytes(value) & -int64_t(liveness[value] == ReadLater);
      liveness[value] = Unread;
    }
    int64_t own = graph->writtenBytes(op);
    if (graph->hasInPlace(op))
      own -= sharedBytes(*graph, graph->op(op),
                         [liveness](ValueIndex value) { return liveness[value] == Unread; });
    for (ValueIndex value : graph->reads(op)) {
      now += graph->bytes(value) & -int64_t(liveness[value] == Unread);
      liveness[value] = ReadLater;
    }
    live = now;
    return now + own;
  }

  /// Says whether the steps visited so far need the contents of `value` from before them.
  bool isLive(ValueIndex value) const { return livenessOf[value] == ReadLater; }

private:
  enum Liveness : uint8_t { Unread, ReadLater };

  const Graph *graph;
  std::vector<Liveness> livenessOf; // per value
  int64_t live;                     // bytes live just before the steps visited so far
};

/// Computes the profile of a schedule. Where some step holds more than `mostPeak`, the peak of the
/// result is only known to exceed it, and its other fields are not valid.
Profile profile(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int64_t mostPeak = INT64_MAX);

/// Removes every repeat whose results are all written again before they are read.
void dropUselessRepeats(const Graph &graph, std::vector<OpIndex> &steps);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_SCHEDULE_H
