//===- Eviction.h - Recomputation on any graph -----------------------------------===//
//
// For graphs that are not chains. While some step holds too much, one of the values that are live
// but not used there is dropped and recomputed just before its next reader, with the ancestors that
// are no longer live. The value that costs least per byte is chosen, as in dynamic tensor
// rematerialization (Kirisame et al., ICLR 2021), but with the rest of the schedule known. Where
// that does not help, and what the reader has besides was written just before by ops that may not
// run again, the repeats run ahead of those ops.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Inserts repeats into `steps` until no step exceeds `capacity`; false where no proposal helps or
/// `work` (steps visited) runs out, with the best schedule so far in `steps`. A value is recomputed
/// through at most `deepest` ancestors in a row.
bool evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
                    int64_t &work);

/// A schedule from which eviction starts for several capacities. What is dropped next hangs on the
/// schedule alone, and the capacity only says whether that helps, so most of the way is the same
/// for all of them: it is remembered, and gone again without a search.
class EvictionPath {
public:
  explicit EvictionPath(std::vector<OpIndex> start);

  const std::vector<OpIndex> &start() const { return stops.front().steps; }

private:
  friend class Evictor;
  struct Stop {
    std::vector<OpIndex> steps; // none: no proposal helped
    Profile usage;
    std::vector<std::vector<int64_t>> refused; // bytes that the proposals hold that did not help
    int64_t work = 0;                          // since the stop before
    int64_t visited = 0;                       // that are not counted in it
  };
  bool add(Stop stop);

  std::vector<Stop> stops;
  size_t size = 0; // numbers remembered
};

/// The same from where `path` starts, into `steps`: neither hangs on what the path remembers.
bool evictUntilFits(const Graph &graph, EvictionPath &path, int64_t capacity, int deepest,
                    int64_t &work, std::vector<OpIndex> &steps);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
