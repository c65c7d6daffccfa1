//===- Graph.h - Writers and readers of every value -------------------------===//
//
// A Graph is an index of the writers, readers and sizes of a Problem, which every solver uses. It
// refers to the Problem and must not outlive it.
//
// Example: x -> matmul -> y: writer(y) = matmul, writer(x) = none, readers(x) = {matmul}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_GRAPH_H
#define LLMMEM_PLANNING_MODEL_GRAPH_H

#include "llmmem/Planning/Model/Cancellation.h"
#include "llmmem/Planning/Model/Problem.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace llmmem::planning {

/// Many fields: each is an index that the innermost loop of some search reads. They depend on the
/// problem alone and not on each other, so a group of them would be one more name to read through.
class Graph {
public:
  explicit Graph(const Problem &problem, Cancellation *cancellation = nullptr);

  const Problem &problem() const { return *source; }
  int32_t numOps() const { return static_cast<int32_t>(source->ops.size()); }
  int32_t numValues() const { return static_cast<int32_t>(source->values.size()); }
  const Op &op(OpIndex index) const { return source->ops[index]; }
  /// Returns the operands in the order of the op. The operands of an op are contiguous in memory,
  /// since the searches visit them at each step of each schedule.
  llvm::ArrayRef<ValueIndex> reads(OpIndex op) const {
    return llvm::ArrayRef<ValueIndex>(operands).slice(visits[op].reads,
                                                      visits[op].writes - visits[op].reads);
  }
  llvm::ArrayRef<ValueIndex> writes(OpIndex op) const {
    return llvm::ArrayRef<ValueIndex>(operands).slice(visits[op].writes,
                                                      visits[op].end - visits[op].writes);
  }
  int64_t cost(OpIndex op) const { return visits[op].cost; }
  /// Returns the bytes of the results and the workspace of one run.
  int64_t writtenBytes(OpIndex op) const { return visits[op].writtenBytes; }
  bool hasInPlace(OpIndex op) const { return visits[op].hasInPlace; }
  bool mayRunAgain(OpIndex op) const { return visits[op].mayRunAgain; }

  /// Returns the op that writes `value`, -1 for an input.
  OpIndex writer(ValueIndex value) const { return writers[value]; }
  /// Returns the ops that read `value`, in program order.
  llvm::ArrayRef<OpIndex> readers(ValueIndex value) const {
    return llvm::ArrayRef<OpIndex>(readerList)
        .slice(readerStart[value], readerStart[value + 1] - readerStart[value]);
  }
  bool isKept(ValueIndex value) const { return kept[value]; }

  /// Returns the bytes of `value` in the arena, rounded up to the problem's alignment, or 0 where
  /// it is resident. With rounded sizes the sum of live bytes is a lower bound on the arena up to
  /// the padding of its topmost buffer (topPadding).
  int64_t bytes(ValueIndex value) const { return arenaBytes[value]; }
  int64_t workspace(OpIndex op) const { return workspaceBytes[op]; }
  /// Returns the most by which an arena may be smaller than rounded sizes, since an arena ends with
  /// the last byte of its topmost buffer. It is 0 where the alignment divides all sizes.
  int64_t topPadding() const { return padding; }
  /// Returns the same for a program point where only the buffers of `op` are known to be live.
  int64_t topPadding(OpIndex op) const;
  int64_t residentBytes() const { return resident; }
  /// Returns the cost of running every op once.
  int64_t baseCost() const { return base; }
  /// Returns the bytes of the operands, results and workspace of one run of `op`, without resident
  /// bytes. An in-place result counts nothing wherever the rules allow it to share an operand's
  /// bytes. Every schedule holds at least this while `op` runs.
  int64_t footprint(OpIndex op) const;

  /// Every long search over the graph calls this regularly (see Cancellation.h).
  void poll() const {
    if (canceller)
      canceller->poll();
  }
  /// Returns the cancellation, which may be null.
  Cancellation *cancellation() const { return canceller; }

private:
  struct Visit {
    int32_t reads, writes, end; // where each list begins in `operands`
    bool hasInPlace, mayRunAgain;
    int64_t cost, writtenBytes;
  };
  int64_t paddingOf(ValueIndex value) const;
  void addVisits();

  const Problem *source;
  Cancellation *canceller;
  std::vector<Visit> visits; // per op
  std::vector<ValueIndex> operands;
  std::vector<OpIndex> writers;
  std::vector<OpIndex> readerList;
  std::vector<int32_t> readerStart;
  std::vector<bool> kept;
  std::vector<int64_t> arenaBytes;
  std::vector<int64_t> workspaceBytes;
  int64_t resident = 0;
  int64_t padding = 0;
  int64_t base = 0;
};

/// Adds to `marked`, per op, the ops that run before `op` in every schedule.
void markAncestors(const Graph &graph, OpIndex op, std::vector<bool> &marked);
/// Adds to `marked`, per op, the ops whose first run comes after that of `op` in every schedule.
void markDescendants(const Graph &graph, OpIndex op, std::vector<bool> &marked);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_GRAPH_H
