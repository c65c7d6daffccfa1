//===- Eviction.h - Recomputation on any graph -----------------------------------===//
//
// This is a search for graphs that are not chains. While some step holds too much, one of the
// values that are live but not used there is dropped and recomputed just before its next reader,
// with the ancestors that are no longer live. The value that costs least per byte is chosen, as in
// dynamic tensor rematerialization (Kirisame et al., ICLR 2021), but with the rest of the schedule
// known. Where that does not help, and what the reader has besides was written just before by ops
// that may not run again, the repeats run ahead of those ops.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Inserts repeats into `steps` until no step exceeds `capacity`. Returns false where no proposal
/// helps or `work` (steps visited) runs out, with the best schedule so far in `steps`. A value is
/// recomputed through at most `deepest` ancestors in a row.
bool evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
                    int64_t &work);

/// A schedule from which eviction starts for several capacities. What is dropped next depends on
/// the schedule alone, and the capacity only says whether that helps, so most of the way is the
/// same for all of them. The path remembers it, and it is gone again without a search. Of the bytes
/// that the steps hold, the path remembers only what a proposal changes and what decides at
/// capacities near the current one.
class EvictionPath {
public:
  explicit EvictionPath(std::vector<OpIndex> start) : first(std::move(start)) {}

  const std::vector<OpIndex> &start() const { return first; }

private:
  friend class Evictor;
  /// A change of the bytes that a step holds, by a proposal.
  struct Change {
    int64_t now, then;
  };
  /// A stop leads from one schedule to the next.
  struct Stop {
    std::vector<OpIndex> added; // none: no proposal helped
    int32_t place = 0;          // the step before which they are inserted
    int64_t peak = 0;           // peak of the schedule before
    int64_t least = 0;          // the capacity from which the changes decide
    std::vector<Change> changes;
    std::vector<size_t> ends; // ends of the proposals in `changes`; only the last one helped
    int64_t work = 0;
    int64_t visited = 0; // ops visited that are not counted in the work, at its end
  };
  static size_t sizeOf(const Stop &stop);
  /// Returns false where it is too much to remember.
  bool add(const Stop &stop);
  void forgetFrom(size_t at);

  std::vector<OpIndex> first;
  std::vector<Stop> stops;
  size_t size = 0; // how many numbers it remembers
};

/// Does the same from where `path` starts, into `steps`. The answer, the steps and the work do not
/// depend on what the path remembers. `graph` and `deepest` are the same each time.
bool evictUntilFits(const Graph &graph, EvictionPath &path, int64_t capacity, int deepest,
                    int64_t &work, std::vector<OpIndex> &steps);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
