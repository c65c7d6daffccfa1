//===- GrowingSchedule.h - A schedule into which repeats are inserted ---------------===//
//
// Knows the live ranges of a schedule, and what it holds at each step. A few repeats change a few
// live ranges, so what they would hold costs these ranges alone, and not a look at the operands of
// every step, as `profile` does.
//
// Example: f x->a, g, h reads a: with f again before h, g holds the bytes of a less.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_GROWINGSCHEDULE_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_GROWINGSCHEDULE_H

#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>
#include <optional>

namespace llmmem::planning {

/// The live ranges of all values, in steps: those of the inputs, then the others in order of
/// arrival. What is searched lies together.
class LiveRanges {
public:
  LiveRanges(size_t numValues, size_t numSteps);

  void addInput(ValueIndex value);
  /// Adds what the run at a new last step writes, or at a step that was inserted.
  void addResults(int32_t step, llvm::ArrayRef<ValueIndex> results);
  /// Makes the last range of `value`, where there is one, end at `step`.
  void extendLast(ValueIndex value, int32_t step) {
    if (lastRange[value] >= 0)
      tos[lastRange[value]] = step;
  }
  void setEnd(ValueIndex value, int32_t from, int32_t to) {
    tos[indexBefore(value, from + 1)] = to;
  }
  /// Makes room for `count` steps before step `place`.
  void insertSteps(int32_t place, int32_t count);

  /// Returns the instance of `value` that is current just before `step`, or nothing where there is
  /// none.
  std::optional<Instance> currentBefore(ValueIndex value, int32_t step) const {
    const int32_t index = indexBefore(value, step);
    return index < 0 ? std::nullopt : std::optional(Instance{value, froms[index], tos[index]});
  }
  /// Calls `visit` with each value that `steps` write before `step` and hold beyond it, inputs
  /// first, then by the step that writes it.
  template <typename Visit>
  void forEachHeldOver(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int32_t step,
                       Visit visit) const {
    for (size_t index = 0; index < inputs.size(); ++index)
      if (tos[index] > step)
        visit(inputs[index]);
    for (int32_t writing = 0; writing < step; ++writing) {
      int32_t index = firstResult[writing];
      for (ValueIndex value : graph.writes(steps[writing]))
        if (tos[index++] > step)
          visit(value);
    }
  }

private:
  void add(ValueIndex value, int32_t step);
  /// Returns the index of a live range, or -1 where there is none.
  int32_t indexBefore(ValueIndex value, int32_t step) const {
    int32_t index = lastRange[value];
    while (index >= 0 && froms[index] >= step)
      index = previous[index];
    return index;
  }

  std::vector<ValueIndex> inputs;
  std::vector<int32_t> froms, tos;
  std::vector<int32_t> previous;    // the range of the value before it; -1: it is the first one
  std::vector<int32_t> lastRange;   // by value; -1: there is none
  std::vector<int32_t> firstResult; // by step: its first live range
};

/// The steps that read each value. A run is at another step where something is inserted before it,
/// but its number stays.
class ReadSteps {
public:
  ReadSteps(size_t numValues, size_t numSteps);

  /// Adds a run after all others.
  void add(llvm::ArrayRef<ValueIndex> operands);
  /// Inserts runs of `ops` before step `place`.
  void insert(const Graph &graph, int32_t place, llvm::ArrayRef<OpIndex> ops);

  /// Returns the first step after `step` that reads `value`, or -1 without one.
  int32_t nextAfter(ValueIndex value, int32_t step) const;
  /// Returns the last read before `step` of what is written at `from`, or `from` itself without
  /// one.
  int32_t lastBefore(ValueIndex value, int32_t from, int32_t step) const;

private:
  using Run = int32_t;
  std::vector<Run> runs;                          // indexed by step
  std::vector<int32_t> positionOf;                // by run: its step
  std::vector<llvm::SmallVector<Run, 4>> readsOf; // by value, in the order of the steps
};

/// Ops that would run before a step, and what each step of the grown schedule would hold.
struct Growth {
  int32_t numAdded() const { return static_cast<int32_t>(added.size()); }
  int32_t numSteps() const { return static_cast<int32_t>(bytes.size()); }
  /// Maps a step to that of the grown schedule, and back where it is not added.
  int32_t grown(int32_t step) const { return step < place ? step : step + numAdded(); }
  int32_t ungrown(int32_t step) const { return step < place ? step : step - numAdded(); }
  bool isAdded(int32_t grown) const { return grown >= place && grown < place + numAdded(); }
  void addChanged(int32_t from, int32_t to) {
    changedFrom = std::min(changedFrom, from);
    changedTo = std::max(changedTo, to);
  }
  /// Begins with what the schedule holds, and `over` while the added steps run.
  void start(const Graph &graph, const std::vector<int64_t> &held, int64_t over);
  void hold(int32_t from, int32_t to, int64_t more);

  std::vector<OpIndex> added;
  int32_t place = 0;
  std::vector<int64_t> bytes;
  int32_t changedFrom = 0, changedTo = 0; // the steps that may hold other bytes
};

class GrowingSchedule {
public:
  /// `usage` is the profile of `steps`.
  GrowingSchedule(const Graph &graph, std::vector<OpIndex> steps, Profile usage);

  const std::vector<OpIndex> &steps() const { return list; }
  const Profile &usage() const { return held; }
  int32_t numSteps() const { return static_cast<int32_t>(list.size()); }
  const LiveRanges &liveRanges() const { return ranges; }
  const ReadSteps &readSteps() const { return reads; }

  /// Returns the bytes held, as in a profile, where `ops`, which have all run before, run again
  /// before step `place`. The result is valid until the next call.
  const std::vector<int64_t> &bytesWith(llvm::ArrayRef<OpIndex> ops, int32_t place);
  /// Calls `visit` with what a step holds now and what it holds with the repeats of the last
  /// `bytesWith`, for each step where these differ. A step that is added holds 0 now. It must not
  /// be called after `insert`.
  template <typename Visit>
  void forEachChange(Visit visit) const {
    for (int32_t step = growth.changedFrom; step <= growth.changedTo; ++step)
      if (const int64_t now = growth.isAdded(step) ? 0 : held.bytes[growth.ungrown(step)],
          then = growth.bytes[step];
          now != then)
        visit(now, then);
  }
  /// Inserts the repeats of the last `bytesWith`.
  void insert();

private:
  /// A part of a live range where repeats are inserted, in steps of the grown schedule.
  struct Piece {
    ValueIndex value;
    int32_t from, to;
  };
  /// A value that the repeats read or write, and the piece that is current.
  struct Touched {
    Piece piece;
    int32_t oldTo; // end of its range without the repeats, in steps with them
  };

  int64_t heldOver() const;
  Touched &touch(ValueIndex value);
  void close(const Touched &touched);
  void makePieces();
  int64_t sharedBefore(int32_t step) const;
  int64_t sharedThen(int32_t step) const;
  void shareBytes();
  void use(std::vector<int64_t> &bytes);

  const Graph &graph;
  std::vector<OpIndex> list;
  Profile held;
  int64_t keptBytes; // bytes held at the end, resident included
  bool hasInPlace = false;
  LiveRanges ranges;
  ReadSteps reads;

  // The arguments and the result of the last `bytesWith`.
  Growth growth;
  std::vector<Touched> touched;
  std::vector<int32_t> touchedAt; // by value: its position in `touched`, or -1
  std::vector<Piece> pieces;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_GROWINGSCHEDULE_H
