//===- ExactSearch.h - All schedules of a small problem -------------------------===//
//
// The search finds shortest paths over states (ops that have run, values held). An arc runs one op,
// after dropping a smallest set of held values that makes it fit. Holding more is never worse (a
// value can be dropped at any time for free), so a state is dominated by one of no more cost that
// holds a superset. A schedule that is found is optimal over all schedules, with any number of
// repeats; if none is found, none exists.
//
// Example: the chain f0 f1 with backward b1 b0 and a capacity for no saved value: f0 f1 b1 f0 b0.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EXACTSEARCH_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EXACTSEARCH_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

struct ExactAnswer {
  enum class Kind { Found, None, GaveUp } kind = Kind::GaveUp;
  std::vector<OpIndex> steps;
  int64_t cost = 0;
  /// The least peak of any schedule, resident included, where none was found.
  int64_t leastBytes = 0;
  int64_t work = 0; // the work spent
};

struct ExactOptions {
  bool repeats = true;        // false: every op exactly once
  int64_t work = 1000 * 1000; // states and arcs before giving up
  uint32_t done = 0;          // the ops that have run already
  std::optional<std::vector<ValueIndex>> held =
      std::nullopt; // the values held then; nullopt: the inputs
};

/// Says whether the problem is small enough for the search.
bool isSmall(const Graph &graph);

/// Returns the cheapest schedule that holds at most `capacity` bytes, resident included, with sizes
/// rounded to the alignment.
ExactAnswer cheapestUnder(const Graph &graph, int64_t capacity, ExactOptions options = {});

/// Returns the schedule of the least peak, and the cheapest of that peak.
ExactAnswer leastPeakExactly(const Graph &graph, ExactOptions options = {});

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EXACTSEARCH_H
