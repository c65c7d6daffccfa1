//===- ScheduleMove.h - A schedule under annealing moves ----------------------------===//
//
// Holds the runs of a schedule, the bytes that each adds while it runs and those that it leaves
// live. A move relocates a run, adds a repeat or removes one. `evaluate...` computes its effect on
// the cost and on the bytes above a target; `accept` applies it, `reject` discards it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULEMOVE_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULEMOVE_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

class ScheduleMove {
public:
  ScheduleMove(const Graph &graph, llvm::ArrayRef<OpIndex> steps);

  /// Makes bytes above `bytes`, resident ones included, count as excess from now on.
  void setTarget(int64_t bytes);
  /// Makes bytes above `lower` count as well, and each above `bytes` count `steepness` more.
  void setTarget(int64_t bytes, int64_t lower, int64_t steepness);

  int32_t numSteps() const { return static_cast<int32_t>(order.size()); }
  int32_t runAt(int32_t step) const { return order[step]; }
  int32_t stepOf(int32_t run) const { return runs[run].step; }
  OpIndex opOf(int32_t run) const { return runs[run].op; }
  bool isRepeated(OpIndex op) const { return timesRun[op] > 1; }
  int64_t cost() const { return costNow; }
  int64_t excess() const { return excessNow; }
  int64_t peak() const;
  std::vector<OpIndex> steps() const;

  /// Returns the first and the last step to which `run` may move while all other runs stay where
  /// they are. It must stay after the writers of its operands and before the readers of its
  /// results.
  std::pair<int32_t, int32_t> range(int32_t run) const;

  struct Effect {
    int64_t cost = 0, excess = 0;
  };
  /// Each of these must be followed by `accept` or `reject`, unless it returns nothing: then a read
  /// would precede every write. A gap is named by the step after it.
  std::optional<Effect> evaluateRelocation(int32_t run, int32_t gap);
  std::optional<Effect> evaluateRepeat(OpIndex op, int32_t gap);
  std::optional<Effect> evaluateRemoval(int32_t run);
  void accept();
  void reject();

private:
  struct Run {
    OpIndex op;
    int32_t step;
    int64_t peakAdded = 0; // bytes it adds while it runs
    int64_t netAdded = 0;  // bytes it leaves live, less those it frees
  };
  /// One instance of a value, by runs: from its writer to its last reader.
  struct LiveRange {
    int32_t writer; // -1: an input
    int32_t last;   // `unread` or `kept`: see below
    bool operator==(const LiveRange &other) const = default;
  };
  static constexpr int32_t unread = -1, kept = -2;
  using LiveRanges = llvm::SmallVector<LiveRange, 2>;

  /// What the steps hold, and how much of it is excess.
  struct StepBytes {
    int64_t excessOf(int64_t bytes) const {
      return steepness * std::max<int64_t>(0, bytes - target) +
             std::max<int64_t>(0, bytes - lowerTarget);
    }
    void resize(size_t numSteps);

    std::vector<int64_t> level, held; // before and while each step runs
    std::vector<int64_t> over;        // by step: the excess
    int64_t target = INT64_MAX, lowerTarget = INT64_MAX, steepness = 1;
  };
  /// The move under evaluation takes `run` from step `from` (-1: it is new) to `gap` (-1: it is
  /// removed), and changes what the steps from `low` to `high` hold.
  struct Move {
    int32_t run = -1, from = -1, gap = -1, low = 0, high = 0;
    Effect effect;
    std::vector<std::pair<ValueIndex, LiveRanges>> rangesBefore;
    std::vector<std::pair<int32_t, Run>> runsBefore;
  };

  int64_t keyOf(int32_t run) const;
  bool deriveRanges(ValueIndex value);
  void updateRun(int32_t run);
  void setUsage(Run &run, int32_t id) const;
  std::optional<Effect> evaluate(int32_t run, int32_t from, int32_t gap);
  template <typename Function>
  void forEachNew(Function function) const;
  void measure(int32_t from, int32_t to);

  const Graph &graph;
  std::vector<Run> runs;                           // by id, including those of removed runs
  std::vector<int32_t> order;                      // ids by step
  std::vector<int32_t> freeIds;                    // ids of removed runs
  std::vector<int32_t> timesRun;                   // per op
  std::vector<llvm::SmallVector<int32_t, 6>> uses; // per value: runs that read or write it
  std::vector<LiveRanges> ranges;                  // per value
  StepBytes bytes;
  int64_t costNow = 0, excessNow = 0;
  Move move;
  llvm::SmallVector<int32_t, 16> sorted; // runs, while ranges are derived
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_SCHEDULEMOVE_H
