//===- StageScan.h - The bytes of a few ops of a schedule ----------------------------===//
//
// Computes what a list of ops holds, from its last op to its first, as BackwardScan does for a
// whole schedule. Values that the list does not touch, and that do not stay live after it, are not
// counted. A scan takes time in the ops of the list alone.
//
// Example: b = f(a), c = g(b), where c stays live: g holds b and c, f holds a and b.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_STAGESCAN_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_STAGESCAN_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

class StageScan {
public:
  /// `isExtra` says, per value, what some scans leave to their caller to count.
  StageScan(const Graph &graph, const std::vector<bool> &isExtra)
      : graph(graph), isExtra(isExtra), seenIn(graph.numValues(), 0),
        isRead(graph.numValues(), false) {}

  /// Begins a scan after whose last op `bytes` are live.
  void start(int64_t bytes, bool countsExtras);
  /// Says that `value` is among what is live after the last op. Its bytes are in `bytes` already.
  void leave(ValueIndex value) { mark(value, true); }
  /// Returns the peak of the ops.
  int64_t peakOf(llvm::ArrayRef<OpIndex> ops);

private:
  int64_t visit(OpIndex op);
  void mark(ValueIndex value, bool read) {
    seenIn[value] = number;
    isRead[value] = read;
  }
  bool isLive(ValueIndex value) const { return seenIn[value] == number && isRead[value]; }
  bool isCounted(ValueIndex value) const { return countsExtras || !isExtra[value]; }

  const Graph &graph;
  const std::vector<bool> &isExtra;
  int32_t number = 0;
  std::vector<int32_t> seenIn; // the scan that touched the value last
  std::vector<bool> isRead;
  int64_t live = 0;
  bool countsExtras = true;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_STAGESCAN_H
