//===- Blocks.h - The chain that a training step is ---------------------------===//
//
// A training step is a chain of *parts*: its forward is cut into consecutive parts (the blocks, and
// what stands before and after them), and its backward visits the parts in reverse. A *stretch* is
// the piece of the order in which one part's backward runs: stretch 0 is the whole forward, then
// the parts' backwards, last part first, then what follows them (updates). Decisions are taken per
// part; held values are counted per stretch.
//
// Example: forward f0 f1 f2, backward b2 b1 b0: parts {f0} {f1} {f2}; stretches {f0 f1 f2} {b2}
// {b1} {b0}.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_BLOCKS_H
#define LLMMEM_PLANNING_MODEL_BLOCKS_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

struct Chain {
  std::vector<OpIndex> order; // every op once
  int32_t cut = 0;            // position of the first op after the forward
  int32_t numParts = 0;
  std::vector<int32_t> partOf;    // per op; -1 after the cut
  std::vector<bool> isBlock;      // per part: a repeated block, not what stands around them
  bool isGuess = false;           // no label, repeat or single value says where parts end
  std::vector<int32_t> stretchOf; // per position in `order`, never decreasing

  int32_t numStretches() const { return numParts + 2; }
  /// The stretch in which the backward of `part` runs.
  int32_t backwardStretch(int32_t part) const { return numParts - part; }
  int32_t numBlocks() const { return static_cast<int32_t>(llvm::count(isBlock, true)); }
};

/// Cuts `order` into a chain: by its labels (phase, block) where the problem has them, else by the
/// repeats of its ops' shapes, else at the points that few bytes cross. A problem without any
/// structure is one part.
Chain findChain(const Graph &graph, std::vector<OpIndex> order);

/// The longest tandem repeat in `signature`: `count` periods of `period` elements from `start`.
/// Example: x a b a b a b y: start 1, period 2, count 3.
struct TandemRepeat {
  int32_t start = 0;
  int32_t period = 0;
  int32_t count = 0;
};
TandemRepeat findTandemRepeat(llvm::ArrayRef<uint64_t> signature);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_BLOCKS_H
