//===- ScheduleChange.h - A schedule that is changed one run at a time ----------------===//
//
// Holds the runs of a schedule, what each adds to memory and what it leaves there. `weigh` says
// what a change would do to the cost and to the bytes above a target; `take` makes it, `drop`
// forgets it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULECHANGE_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULECHANGE_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

class ScheduleChange {
public:
  ScheduleChange(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

  /// Bytes above `bytes`, resident ones included, count as excess from now on.
  void aimAt(int64_t bytes);
  /// Bytes above `lower` count as well, and each above `bytes` counts `steepness` more.
  void aimAt(int64_t bytes, int64_t lower, int64_t steepness);

  int32_t numSteps() const { return static_cast<int32_t>(order.size()); }
  int32_t runAt(int32_t step) const { return order[step]; }
  int32_t stepOf(int32_t run) const { return runs[run].step; }
  OpIndex opOf(int32_t run) const { return runs[run].op; }
  bool isRepeated(OpIndex op) const { return timesRun[op] > 1; }
  int64_t cost() const { return costNow; }
  int64_t excess() const { return excessNow; }
  int64_t peak() const;
  std::vector<OpIndex> steps() const;

  /// The first and the last step at which `run` still finds what it reads and is found by what
  /// reads it, all others staying where they are.
  std::pair<int32_t, int32_t> range(int32_t run) const;

  struct Effect {
    int64_t cost = 0, excess = 0;
  };
  /// Each is followed by `take` or `drop`; nothing where a read would precede every write. A gap is
  /// named by the step behind it.
  std::optional<Effect> weighMove(int32_t run, int32_t gap);
  std::optional<Effect> weighRepeat(OpIndex op, int32_t gap);
  std::optional<Effect> weighRemoval(int32_t run);
  void take();
  void drop();
  /// Steps that the last change made it necessary to look at.
  int32_t looked() const { return high - low + 1; }

private:
  struct Run {
    OpIndex op;
    int32_t step;
    int64_t hill = 0; // what it adds while it runs
    int64_t rest = 0; // what it leaves
  };
  /// One instance of a value, by runs. `last` reads it last.
  struct Life {
    int32_t writer; // -1: an input
    int32_t last;   // unread or kept: see below
    bool operator==(const Life &other) const = default;
  };
  static constexpr int32_t unread = -1, kept = -2;
  using Lives = llvm::SmallVector<Life, 2>;

  int64_t keyOf(int32_t run) const;
  bool settle(ValueIndex value);
  void reweigh(int32_t run);
  void setWeight(Run &run, int32_t id) const;
  std::optional<Effect> weigh(int32_t run, int32_t from, int32_t gap);
  int64_t excessOf(int64_t bytes) const {
    return steepness * std::max<int64_t>(0, bytes - target) +
           std::max<int64_t>(0, bytes - lowerTarget);
  }
  template <typename Function>
  void forEachNew(Function function) const;
  void measure(int32_t from, int32_t to);

  const Graph &graph;
  std::vector<Run> runs;                           // by id, those left out included
  std::vector<int32_t> order;                      // ids by step
  std::vector<int32_t> freeIds;                    // of runs left out
  std::vector<int32_t> timesRun;                   // per op
  std::vector<llvm::SmallVector<int32_t, 6>> uses; // per value: runs that read or write it
  std::vector<Lives> lives;                        // per value
  std::vector<int64_t> level, held;                // before and while each step runs
  std::vector<int64_t> over;                       // by step: its excess
  int64_t target = INT64_MAX, lowerTarget = INT64_MAX, steepness = 1;
  int64_t costNow = 0, excessNow = 0;

  // The change that is weighed: `run` leaves step `from` (-1: it is new) for `gap` (-1: for good).
  int32_t run = -1, from = -1, gap = -1, low = 0, high = 0;
  Effect effect;
  std::vector<std::pair<ValueIndex, Lives>> livesBefore;
  std::vector<std::pair<int32_t, Run>> runsBefore;
  llvm::SmallVector<int32_t, 16> sorted;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULECHANGE_H
