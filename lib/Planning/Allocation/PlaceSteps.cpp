//===- PlaceSteps.cpp - Offsets for a schedule --------------------------------------===//
//
// Turns steps into instances, instances that share bytes in place into shapes, and the packing of
// the shapes into the offsets, arena, peak and cost of a plan.
//

#include "PackLike.h"
#include "PackSubAlignment.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Model/InPlace.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

struct PlacedInstance {
  int32_t step; // the step that writes it, -1: an input
  ValueIndex value;
  int32_t first, last;    // steps at which it is held
  int32_t reusedBy = -1;  // the instance that takes its bytes in place
  bool takes = false;     // whether it takes the bytes of another
  int32_t busyUntil = -1; // a step that overlaps others may use it longer than `last`
};

/// The instances that the steps make of each value: inputs, then by step and value.
class Instances {
public:
  Instances(const Problem &problem, llvm::ArrayRef<OpIndex> steps, std::span<const StepSpan> spans)
      : problem(problem), steps(steps), stepCount(static_cast<int32_t>(steps.size())),
        spans(spans) {
    makeInstances();
    linkInPlace();
  }

  StepSpan spanOf(int32_t step) const { return spans.empty() ? StepSpan{step, step} : spans[step]; }
  size_t size() const { return instances.size(); }
  const PlacedInstance &operator[](size_t index) const { return instances[index]; }

private:
  void makeInstances() {
    std::vector<bool> written(problem.values.size(), false);
    for (const Op &op : problem.ops)
      for (ValueIndex value : op.writes)
        written[value] = true;
    std::vector<int32_t> current(problem.values.size(), -1);
    auto begin = [&](int32_t step, ValueIndex value, int32_t last) {
      current[value] = static_cast<int32_t>(instances.size());
      instances.push_back({step, value, std::max(step, 0), last});
      if (step >= 0)
        instances.back().busyUntil = spanOf(step).last;
    };
    for (size_t value = 0; value < written.size(); ++value)
      if (!written[value] && !problem.values[value].resident)
        begin(-1, static_cast<ValueIndex>(value), -1);
    readsOf.resize(stepCount + 1, 0);
    for (int32_t step = 0; step < stepCount; ++step) {
      const Op &op = problem.ops[steps[step]];
      readsOf[step] = static_cast<int32_t>(readInstances.size());
      for (ValueIndex value : op.reads) {
        readInstances.push_back(current[value]);
        if (current[value] < 0)
          continue;
        PlacedInstance &read = instances[current[value]];
        read.last = step;
        read.busyUntil = std::max(read.busyUntil, spanOf(step).last);
      }
      std::vector<ValueIndex> writes = op.writes;
      llvm::sort(writes); // the order in which offsets are listed
      for (ValueIndex value : writes)
        begin(step, value, step);
    }
    for (ValueIndex value : problem.keep)
      if (current[value] >= 0)
        instances[current[value]].last = stepCount; // one position past the last step
  }

  void linkInPlace() {
    size_t next = 0;
    while (next < instances.size() && instances[next].step < 0)
      ++next;
    for (int32_t step = 0; step < stepCount; ++step) {
      const Op &op = problem.ops[steps[step]];
      const size_t firstWrite = next;
      next += op.writes.size();
      auto readInstance = [&](ValueIndex value) {
        const size_t at = llvm::find(op.reads, value) - op.reads.begin();
        return readInstances[readsOf[step] + at];
      };
      auto dies = [&](ValueIndex value) {
        const int32_t instance = readInstance(value);
        return instance >= 0 && instances[instance].last == step;
      };
      for (const InPlace &pair : chooseInPlace(problem, op, dies))
        for (size_t i = firstWrite; i < next; ++i)
          if (instances[i].value == pair.write) {
            instances[readInstance(pair.read)].reusedBy = static_cast<int32_t>(i);
            instances[i].takes = true;
          }
    }
  }

  const Problem &problem;
  const llvm::ArrayRef<OpIndex> steps;
  const int32_t stepCount;
  const std::span<const StepSpan> spans;
  std::vector<PlacedInstance> instances;
  std::vector<int32_t> readsOf;       // by step: where its reads begin in readInstances
  std::vector<int32_t> readInstances; // -1: resident
};

class Placer {
public:
  Placer(const Problem &problem, Plan &plan, const PackOptions &options,
         std::span<const StepSpan> spans, const Plan *like)
      : problem(problem), plan(plan), options(options),
        stepCount(static_cast<int32_t>(plan.steps.size())), instances(problem, plan.steps, spans),
        like(tuning::isOff("similar plan") ? nullptr : like) {}

  void run() {
    makeShapes();
    const Packing packing =
        like ? packLike(shapes, options, offsetsLike()) : packShapes(shapes, options);
    fillOffsets(packing);
    fillNumbers();
    trySubAlignmentLast(packing);
  }

private:
  /// Where the arena exceeds the peak only by padding, the padding may move to the top.
  void trySubAlignmentLast(const Packing &packing) {
    const int64_t before = plan.arena;
    if (options.isFirstTry || tuning::isOff("small buffers last") ||
        before <= std::max(plan.peak - problem.residentBytes(), options.capacity.value_or(0)))
      return;
    if (const std::optional<Packing> other =
            packSubAlignmentLast(shapes, isSubAlignment, options)) {
      fillOffsets(*other);
      if (plan.arena >= before)
        fillOffsets(packing);
    }
  }

  int64_t rounded(int64_t bytes) const {
    return (bytes + options.alignment - 1) / options.alignment * options.alignment;
  }

  /// Makes one shape of each chain of in-place instances. At the step of the in-place op the older
  /// value's bytes count, and they cover those of the result.
  void makeShapes() {
    shapes.positions = std::max(stepCount, 1);
    shapeOf.assign(instances.size(), -1);
    live.assign(shapes.positions + 1, 0);
    std::vector<Piece> chain;
    for (size_t head = 0; head < instances.size(); ++head) {
      if (instances[head].takes)
        continue;
      chain.clear();
      int32_t from = instances[head].first, busyUntil = -1;
      for (int32_t i = static_cast<int32_t>(head); i >= 0; i = instances[i].reusedBy) {
        const int32_t to = std::min(instances[i].last + 1, shapes.positions);
        const int64_t bytes = problem.values[instances[i].value].bytes;
        if (bytes == 0 || from >= to)
          continue;
        chain.push_back({from, to, rounded(bytes)});
        hold(chain.back(), bytes);
        busyUntil = std::max(busyUntil, instances[i].busyUntil);
        from = to;
      }
      if (chain.empty())
        continue;
      if (instances[head].step >= 0)
        chain.front().lower =
            std::min(chain.front().lower, instances.spanOf(instances[head].step).first);
      chain.back().upper = std::max(chain.back().upper, busyUntil + 1);
      for (int32_t i = static_cast<int32_t>(head); i >= 0; i = instances[i].reusedBy)
        shapeOf[i] = static_cast<int32_t>(shapes.shapes.size());
      shapes.add(chain);
      isSubAlignment.push_back(
          llvm::all_of(chain,
                       [&](const Piece &piece) { return piece.size == options.alignment; }) &&
          problem.values[instances[head].value].bytes < options.alignment);
    }
    firstWorkspace = static_cast<int32_t>(shapes.shapes.size());
    for (int32_t step = 0; step < stepCount; ++step)
      if (const int64_t bytes = problem.ops[plan.steps[step]].workspace) {
        shapes.add(
            Piece{instances.spanOf(step).first, instances.spanOf(step).last + 1, rounded(bytes)});
        isSubAlignment.push_back(bytes < options.alignment);
        hold({step, step + 1, 0}, bytes);
      }
  }

  void hold(const Piece &piece, int64_t bytes) {
    live[piece.lower] += bytes;
    live[piece.upper] -= bytes;
  }

  void fillOffsets(const Packing &packing) {
    plan.offsets.clear();
    plan.workspaces.clear();
    plan.arena = 0;
    for (size_t i = 0; i < instances.size(); ++i) {
      const PlacedInstance &it = instances[i];
      if (it.last < it.first)
        continue; // an input without readers has no bytes in the arena
      const int64_t offset = shapeOf[i] < 0 ? 0 : packing.offsets[shapeOf[i]];
      plan.offsets.push_back({it.step, it.value, offset});
      plan.arena = std::max(plan.arena, offset + problem.values[it.value].bytes);
    }
    int32_t shape = firstWorkspace;
    for (int32_t step = 0; step < stepCount; ++step)
      if (const int64_t bytes = problem.ops[plan.steps[step]].workspace) {
        const int64_t offset = packing.offsets[shape++];
        plan.workspaces.push_back({step, offset});
        plan.arena = std::max(plan.arena, offset + bytes);
      }
  }

  /// Returns the offsets that `like` gives each shape, or -1 where it does not have the shape. The
  /// first instances of a value correspond to each other, and so do the second ones.
  std::vector<int64_t> offsetsLike() const {
    std::vector<std::vector<int64_t>> ofValue(problem.values.size()), ofOp(problem.ops.size());
    for (const InstanceOffset &each : like->offsets)
      ofValue[each.value].push_back(each.offset);
    for (const WorkspaceOffset &each : like->workspaces)
      ofOp[like->steps[each.step]].push_back(each.offset);
    std::vector<size_t> nextOfValue(ofValue.size(), 0), nextOfOp(ofOp.size(), 0);
    std::vector<int64_t> wanted(shapes.shapes.size(), -1);
    for (size_t i = 0; i < instances.size(); ++i) {
      const PlacedInstance &it = instances[i];
      if (it.last < it.first)
        continue;
      const size_t number = nextOfValue[it.value]++;
      if (!it.takes && shapeOf[i] >= 0 && number < ofValue[it.value].size())
        wanted[shapeOf[i]] = ofValue[it.value][number];
    }
    int32_t shape = firstWorkspace;
    for (OpIndex op : plan.steps)
      if (problem.ops[op].workspace) {
        if (const size_t number = nextOfOp[op]++; number < ofOp[op].size())
          wanted[shape] = ofOp[op][number];
        ++shape;
      }
    return wanted;
  }

  void fillNumbers() {
    int64_t held = 0, largest = 0;
    for (int64_t change : live) {
      held += change;
      largest = std::max(largest, held);
    }
    plan.peak = problem.residentBytes() + largest;
    plan.cost = plan.baseCost = 0;
    for (OpIndex op : plan.steps)
      plan.cost += problem.ops[op].cost;
    for (const Op &op : problem.ops)
      plan.baseCost += op.cost;
  }

  const Problem &problem;
  Plan &plan;
  const PackOptions &options;
  const int32_t stepCount;
  const Instances instances;
  const Plan *const like;
  Shapes shapes;
  std::vector<int32_t> shapeOf;     // by instance; -1: no bytes
  std::vector<bool> isSubAlignment; // by shape: smaller than the alignment
  int32_t firstWorkspace = 0;
  std::vector<int64_t> live; // changes of the live bytes, with sizes as given
};

} // namespace

void placeSteps(const Problem &problem, Plan &plan, const PackOptions &options,
                std::span<const StepSpan> spans, const Plan *like) {
  Placer(problem, plan, options, spans, like).run();
}

} // namespace llmmem::planning
