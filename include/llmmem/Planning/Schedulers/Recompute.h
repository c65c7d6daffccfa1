//===- Recompute.h - From retained values to a schedule -----------------------===//
//
// A Retention states which forward values are held from one segment of a chain to a later one.
// Everything else that a backward op reads is recomputed just before the first op of a segment that
// reads it, with its ancestors down to what is held, and is free again at the end of that segment.
//
// Each recomputation stays next to the backward op that needs it, which keeps the peak low: a
// scheduler that hoists recomputation into the forward saves nothing (measured: 67 GiB against 7).
//
// Example: forward f0 f1 f2 (x -> a -> b -> c), backward b2 b1 b0 reading b, a, x, nothing held but
// x: f0 f1 f2 | f0 f1 b2 | f0 b1 | b0. With a window for a from segment 1 to 2: f0 f1 f2 | f0 f1 b2
// | b1 | b0.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_SCHEDULERS_RECOMPUTE_H
#define LLMMEM_PLANNING_SCHEDULERS_RECOMPUTE_H

#include "llmmem/Planning/Model/Blocks.h"
#include "llvm/ADT/SmallVector.h"

namespace llmmem::planning {

/// Where the value is live in segment `from`, it is held until segment `to`.
struct Window {
  int32_t from;
  int32_t to;
};

/// The windows of each value; a value that is not `subject` is held until its last read. `ahead`
/// lists values that are recomputed in a segment whose ops do not read them, for readers in later
/// ones.
struct Retention {
  std::vector<llvm::SmallVector<Window, 1>> windows;
  std::vector<bool> subject;
  std::vector<std::pair<int32_t, ValueIndex>> ahead; // segment and value

  explicit Retention(const Graph &graph)
      : windows(graph.numValues()), subject(graph.numValues(), false) {}
  void discard(ValueIndex value) { subject[value] = true; }
  void hold(ValueIndex value, int32_t from, int32_t to) { windows[value].push_back({from, to}); }
  void makeAhead(ValueIndex value, int32_t segment) { ahead.push_back({segment, value}); }
};

struct Realization {
  std::vector<OpIndex> steps;
  /// For each position in the chain's order, the step at which its op runs the first time. The
  /// steps between two of these are recomputations for the second one, in its segment.
  std::vector<int32_t> ownStep;
};

/// Places recomputation just in time. It never recomputes an op that must run once: its results are
/// held.
Realization realize(const Graph &graph, const Chain &chain, const Retention &retention);

/// Does the same where each value is held until its last read or, where it `isDiscarded`, never. It
/// stops, without steps, where more than `mostSteps` would be needed: dropping every input of a
/// long chain repeats a number of ops that is quadratic in its length.
Realization realize(const Graph &graph, const Chain &chain, const std::vector<bool> &isDiscarded,
                    size_t mostSteps = SIZE_MAX);

/// Returns the saved values of a chain (Model/Decisions.h), recomputable or not. The forward of
/// the chain is what precedes the cut, whatever phases the ops name.
std::vector<ValueIndex> savedValues(const Graph &graph, const Chain &chain);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SCHEDULERS_RECOMPUTE_H
