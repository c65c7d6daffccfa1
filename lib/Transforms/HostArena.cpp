//===- HostArena.cpp - Places in the host's arena ---------------------------===//

#include "HostArena.h"
#include "llmmem/Analysis/StateCopies.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using planning::ValueIndex;

planning::Plan llmmem::packInOrder(const planning::Problem &problem,
                                   ArrayRef<planning::StepSpan> spans) {
  planning::Plan plan;
  plan.steps.resize(problem.ops.size());
  std::iota(plan.steps.begin(), plan.steps.end(), 0);
  planning::PackOptions options;
  options.alignment = problem.alignment;
  if (problem.budget)
    options.capacity = *problem.budget - problem.residentBytes();
  options.work = planning::packWork(problem.budget ? 10.0 : 0.02);
  planning::placeSteps(problem, plan, options, spans);
  return plan;
}

namespace {
/// Is the problem of the ops that touch some values of the host's arena, and of these values; it is
/// the same wherever other ops stand.
class ArenaProblem {
public:
  ArenaProblem(const ExtractedProblem &extracted, const StepStorage &storage, bool ofUpdates)
      : extracted(extracted), storage(storage), ofUpdates(ofUpdates) {
    problem.alignment = extracted.problem.alignment;
    for (size_t index = 0; index < extracted.ops.size(); ++index)
      addOp(extracted.problem.ops[index], *extracted.ops[index]);
  }

  /// Adds the offsets, each of them after `first`, and returns the arena's bytes.
  int64_t place(int64_t first, llvm::DenseMap<Value, int64_t> &offsets) const {
    constexpr int32_t apart = 2;
    SmallVector<planning::StepSpan> spans;
    const auto count = static_cast<int32_t>(problem.ops.size());
    for (int32_t step = 0; ofUpdates && step < count; ++step)
      spans.push_back({step, std::min(step + apart, count - 1)});
    planning::Plan plan = packInOrder(problem, spans);
    for (const planning::InstanceOffset &entry : plan.offsets)
      offsets[values[entry.value]] = first + entry.offset;
    return plan.arena;
  }

private:
  /// An update, or a device-to-host copy that it reads, writes the values of updates: both are in
  /// every plan.
  bool isIn(Value value) const {
    auto result = dyn_cast_or_null<OpResult>(value);
    return result && llm::isOnHost(result.getType()) && storage.hasOwnBytes(result) &&
           isOnHostInEveryPlan(result.getOwner()) == ofUpdates;
  }

  ValueIndex numberOf(Value value) {
    auto [it, isNew] = numbers.try_emplace(value, problem.values.size());
    if (isNew) {
      problem.values.push_back(
          {it->second, bytesOfType(value.getType()), /*resident=*/false, /*name=*/""});
      values.push_back(value);
    }
    return it->second;
  }

  void addOp(const planning::Op &known, Operation &op) {
    planning::Op entry;
    entry.id = problem.ops.size();
    for (ValueIndex read : known.reads)
      if (isIn(extracted.values[read]))
        entry.reads.push_back(numberOf(extracted.values[read]));
    for (ValueIndex write : known.writes)
      if (isIn(extracted.values[write]))
        entry.writes.push_back(numberOf(extracted.values[write]));
    for (auto [write, read] : known.inPlace)
      if (isIn(extracted.values[write]) && isIn(extracted.values[read]))
        entry.inPlace.push_back(
            {numberOf(extracted.values[write]), numberOf(extracted.values[read])});
    if (!entry.reads.empty() || !entry.writes.empty())
      problem.ops.push_back(std::move(entry));
  }

  const ExtractedProblem &extracted;
  const StepStorage &storage;
  const bool ofUpdates;
  planning::Problem problem;
  std::vector<Value> values;
  llvm::DenseMap<Value, ValueIndex> numbers;
};
} // namespace

HostArena llmmem::placeForUpdates(const ExtractedProblem &extracted, const StepStorage &storage) {
  HostArena arena;
  arena.bytes =
      llvm::alignTo(ArenaProblem(extracted, storage, /*ofUpdates=*/true).place(0, arena.offsets),
                    kArenaAlignment);
  return arena;
}

void llmmem::placeLeaving(const ExtractedProblem &extracted, const StepStorage &storage,
                          HostArena &updates) {
  ArenaProblem(extracted, storage, /*ofUpdates=*/false).place(updates.bytes, updates.offsets);
}
