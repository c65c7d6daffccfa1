//===- Annealing.h - Order and recomputation together, by small random changes --------===//
//
// Improves a schedule by moving one run of an op elsewhere, by running an op again just before a
// reader of what it writes, and by leaving such a repeat out, as simulated annealing does
// (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983). What is lowered is the cost, and the bytes
// above a capacity summed over the steps; a peak alone would be a plateau. A change is weighed
// without a replay of the schedule: only the runs that end the life of what the changed run reads
// or writes weigh otherwise, and only steps between them hold otherwise.
//
// Example: a1 a2 b1 b2 with large a1, b1 and small a2, b2, given as a1 b1 a2 b2: b1 moves behind
// a2.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// An order of every op once whose peak is at most that of `order`: asks for a little less than the
/// best so far, again and again, until `floor` is met or `work` (changes weighed) is spent.
void annealOrder(const Graph &graph, std::vector<OpIndex> &order, int64_t floor, int64_t work);

/// Makes `steps` cheaper within `capacity`, with `work` changes, but no cheaper than `enough`.
/// Where `steps` holds more than that, looks for one that does not. Returns whether the result
/// fits; it is never dearer than `steps` if that does, and holds little more if it does not. Other
/// `luck` leads elsewhere.
bool annealSchedule(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity,
                    int64_t enough, int64_t work, int luck = 0);

/// Makes `steps` easier to pack at the same cost and with no peak above theirs and `limit`: `work`
/// moves of runs to where fewer steps are nearly as full. A packing needs room beside what is live,
/// and where every step is full there is none.
void makeRoom(const Graph &graph, std::vector<OpIndex> &steps, int64_t limit, int64_t work,
              int luck);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_ANNEALING_H
