//===- Spine.h - The critical path of a training step, and where it turns ----------===//
//
// The *spine* is the most expensive path through the graph. In a training step it leads through the
// forward of all blocks, the loss, and the backward of all blocks. Its positions are a clock that
// does not depend on the given order: every op runs after the last spine op among its ancestors and
// before the first one among its descendants.
//
// Where the forward ends, the spine *turns*: a value saved for the backward is written by an
// ancestor and read by a descendant of every op of the spine between the two. The turn is the
// position over which values from the most positions are saved. Positions are counted, not bytes:
// gradients that all wait for a norm take more bytes than activations may, but come from no
// position of the forward.
//
// It takes O(ops + reads) time.
//
// Example: f0 f1 f2 b2 b1 b0, where b(i) reads what f(i) reads: the spine is all six ops. Over f2,
// what f0 and f1 wrote is saved, and f2's own result is read: the turn is 2.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_SPINE_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_SPINE_H

#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

struct Spine {
  static constexpr int32_t never = INT32_MAX;

  std::vector<OpIndex> ops;
  int32_t turn = -1;             // position in `ops`, -1 where no values are saved
  std::vector<int32_t> earliest; // per op: the last position among its ancestors and itself, -1
  std::vector<int32_t> latest; // per op: the first position among its descendants and itself, never

  /// Says whether `op` runs before the turn's op in every order, or is that op.
  bool isForward(OpIndex op) const { return latest[op] <= turn; }
  /// Says whether `op` runs after the turn's op in every order. Ops that are neither could run in
  /// both halves: recomputation that a graph brings with it, and preparation of weights.
  bool isBackward(OpIndex op) const { return !isForward(op) && earliest[op] >= turn; }
};

/// Finds the spine. `colours` (Colours.h) break ties between paths.
Spine findSpine(const Graph &graph, llvm::ArrayRef<uint64_t> colours);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_SPINE_H
