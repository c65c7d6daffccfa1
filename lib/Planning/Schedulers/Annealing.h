//===- Annealing.h - Order and recomputation by simulated annealing -------------------===//
//
// Improves a schedule by simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983). A
// move relocates one run of an op, repeats an op just before a reader of its result, or removes
// such a repeat. The objective is the cost plus the bytes above a capacity summed over the steps; a
// peak alone would be a plateau. A move is evaluated without a replay of the schedule: it changes
// only the live ranges of the run's operands and results, so only the runs at their ends and the
// steps between them are reevaluated.
//
// Example: a1 a2 b1 b2 with large a1, b1 and small a2, b2, given as a1 b1 a2 b2: b1 moves after a2.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Lowers the peak of `order`, which has every op once. It repeatedly sets a target a little below
/// the best peak so far, until `lowerBound` is met or `work` (moves evaluated) is spent.
void annealOrder(const Graph &graph, std::vector<OpIndex> &order, int64_t lowerBound, int64_t work);

/// Lowers the cost of `steps` within `capacity` by `work` moves, but not below `enough`. Where
/// `steps` exceeds the capacity, looks for a schedule that does not. Returns whether the result
/// fits. If `steps` fits, the result costs no more; if the result does not fit, it exceeds the
/// capacity by little. Different seeds give different searches.
bool annealSchedule(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity,
                    int64_t enough, int64_t work, int seed = 0);

/// Makes `steps` easier to pack at the same cost, with a peak of at most the larger of theirs and
/// `limit`. It makes `work` relocations, after which fewer steps are nearly as full as the peak. A
/// packing needs headroom in addition to the live bytes, and a schedule that is full at every step
/// leaves none.
void makeHeadroom(const Graph &graph, std::vector<OpIndex> &steps, int64_t limit, int64_t work,
                  int seed);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H
