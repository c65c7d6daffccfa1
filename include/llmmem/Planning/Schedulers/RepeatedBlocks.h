//===- RepeatedBlocks.h - A step of many equal blocks, from one of few ---------===//
//
// A strategy for a thousand devices is one of thousands; each would need a plan of a step with all
// its blocks. Equal blocks have equal options of what to hold (measured, as in ChainOptions.h), so
// the options of one inner block of a short step serve for all:
//
//   bytes at block i = resident + what the blocks before it hold + its own peak
//   recomputation    = the sum of what the blocks' options recompute
//
// Blocks take at most two options between them, those that hold more first, which is where the flat
// program ends up too. This is a model: the plan of the whole step also orders, nests and packs,
// and decides. It serves to compare strategies.
//
// Example: an inner block holds 10 bytes for nothing or 2 for a cost of 1, and its peak is 12. Four
// of them in 40 bytes next to the resident ones: three hold 10 and the last 2, for a cost of 1.
//
// Units: bytes; costs as in the problem.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_SCHEDULERS_REPEATEDBLOCKS_H
#define LLMMEM_PLANNING_SCHEDULERS_REPEATEDBLOCKS_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// What one part of a step may do. A part is a block, or what comes before or after the blocks.
struct PartOption {
  int64_t cost = 0; // cost of what it recomputes
  int64_t held = 0; // bytes held for the backward
  int64_t peak = 0; // while it runs, including what it holds, without residents
};

/// A stretch of consecutive blocks that one rank runs.
struct BlockStretch {
  int64_t blocks = 1;
  bool hasFirst = true;     // whether the stretch includes what precedes the blocks
  bool hasLast = true;      // whether the stretch includes what follows the blocks
  int64_t microBatches = 1; // held at once, at most
  int64_t residentBytes = 0;
};

struct StretchPlan {
  int64_t recompute = 0; // recompute cost of one micro-batch
  int64_t bytes = 0;     // the most at one program point, residents included
};

class RepeatedBlocks {
public:
  /// Builds the model from a step of at least three blocks (`Op::block`), forward and backward.
  /// Returns nothing where the step is no chain of such blocks.
  static std::optional<RepeatedBlocks> of(const Problem &step);

  /// Returns the least recomputation under which `stretch` uses at most `budget` bytes, residents
  /// included. Returns nothing where no options fit.
  std::optional<StretchPlan> under(const BlockStretch &stretch, int64_t budget) const;
  /// Returns the options that use the fewest bytes.
  StretchPlan least(const BlockStretch &stretch) const;

  /// Returns the options of an inner block that no other dominates, in increasing cost.
  const std::vector<PartOption> &ofBlock() const { return inner; }

private:
  struct Choice;
  StretchPlan evaluate(const BlockStretch &stretch, const Choice &choice) const;
  template <typename Visit>
  void forEachChoice(const BlockStretch &stretch, Visit visit) const;

  std::vector<PartOption> first, inner,
      afterBlocks;        // options of what precedes the blocks, of a block, and of what follows
  int64_t updatePeak = 0; // after all backwards, residents not included
};

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SCHEDULERS_REPEATEDBLOCKS_H
