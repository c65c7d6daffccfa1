//===- Explain.cpp - Why a plan keeps what it keeps -----------------------------===//

#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Model/SavedValues.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

class Explainer {
public:
  Explainer(const Problem &problem, const Plan &plan)
      : problem(problem), graph(problem), liveRanges(problem.values.size()),
        uses(problem.values.size()), runs(problem.ops.size(), 0) {
    for (const Instance &instance : instances(graph, plan.steps))
      liveRanges[instance.value].push_back(instance);
    for (int32_t step = 0; step < static_cast<int32_t>(plan.steps.size()); ++step) {
      const Op &op = problem.ops[plan.steps[step]];
      ++runs[plan.steps[step]];
      for (const auto *list : {&op.reads, &op.writes})
        for (ValueIndex value : *list)
          uses[value].push_back(step);
    }
    hasPhases = llvm::any_of(problem.ops, [](const Op &op) { return op.phase == Phase::Backward; });
  }

  std::vector<SavedValue> run() {
    std::vector<SavedValue> saved;
    for (ValueIndex value = 0; value < graph.numValues(); ++value)
      if (isSaved(value))
        saved.push_back(explain(value));
    llvm::stable_sort(saved,
                      [](const SavedValue &a, const SavedValue &b) { return a.bytes > b.bytes; });
    return saved;
  }

private:
  bool isSaved(ValueIndex value) const {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || problem.values[value].bytes == 0)
      return false;
    if (!hasPhases)
      return runs[writer] > 1 || longestIdle(value).second > 1;
    return planning::isSaved(graph, value, [&](OpIndex op) { return problem.ops[op].phase; });
  }

  /// The longest idle range: the step of the use that ends it, and its length.
  std::pair<int32_t, int32_t> longestIdle(ValueIndex value) const {
    std::pair<int32_t, int32_t> longest = {0, 0};
    for (size_t i = 1; i < uses[value].size(); ++i)
      if (const int32_t idle = uses[value][i] - uses[value][i - 1]; idle > longest.second)
        longest = {uses[value][i], idle};
    return longest;
  }

  SavedValue explain(ValueIndex value) const {
    const OpIndex writer = graph.writer(value);
    SavedValue saved = {value, problem.values[value].bytes, runs[writer], 0, 0, 0, true};
    for (const Instance &range : liveRanges[value])
      saved.stepsHeld += range.to - std::max(range.from, 0) + 1;
    if (saved.runs > 1) {
      for (size_t i = 1; i < liveRanges[value].size(); ++i)
        saved.stepsIdle += liveRanges[value][i].from - liveRanges[value][i - 1].to - 1;
      saved.otherCost = problem.ops[writer].cost * (saved.runs - 1);
      return saved;
    }
    const auto [step, idle] = longestIdle(value);
    saved.stepsIdle = idle;
    saved.canRecompute = problem.ops[writer].recompute;
    saved.otherCost = saved.canRecompute ? costAgain(writer, step) : 0;
    return saved;
  }

  bool isHeld(ValueIndex value, int32_t step) const {
    if (problem.values[value].resident)
      return true;
    auto after =
        llvm::upper_bound(liveRanges[value], step,
                          [](int32_t step, const Instance &range) { return step <= range.from; });
    return after != liveRanges[value].begin() && std::prev(after)->to >= step;
  }

  /// Cost of running `op` again just before `step`, with every ancestor whose result is not live
  /// there. Values that cannot be recomputed (inputs, results of ops that run once) would stay
  /// live.
  int64_t costAgain(OpIndex op, int32_t step) const {
    int64_t cost = 0;
    llvm::DenseSet<OpIndex> visited;
    std::vector<OpIndex> stack = {op};
    visited.insert(op);
    while (!stack.empty()) {
      const Op &it = problem.ops[stack.back()];
      stack.pop_back();
      cost += it.cost;
      for (ValueIndex value : it.reads) {
        const OpIndex writer = graph.writer(value);
        if (writer >= 0 && problem.ops[writer].recompute && !isHeld(value, step) &&
            visited.insert(writer).second)
          stack.push_back(writer);
      }
    }
    return cost;
  }

  const Problem &problem;
  Graph graph;
  std::vector<std::vector<Instance>> liveRanges; // by value, in step order
  std::vector<std::vector<int32_t>> uses;        // by value: steps that touch it, in order
  std::vector<int32_t> runs;                     // by op
  bool hasPhases;
};

} // namespace

std::vector<SavedValue> explainPlan(const Problem &problem, const Plan &plan) {
  return Explainer(problem, plan).run();
}

std::string explanationText(const Problem &problem, const std::vector<SavedValue> &saved) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "saved values, largest first:\n";
  for (const SavedValue &it : saved) {
    const Value &value = problem.values[it.value];
    os << "  " << (value.name.empty() ? "value " + std::to_string(value.id) : value.name) << " ("
       << formatByteSize(it.bytes) << "): ";
    if (it.runs > 1)
      os << "recomputed " << (it.runs == 2 ? "once" : std::to_string(it.runs - 1) + " times")
         << ", held " << it.stepsHeld << " steps; keeping it would save cost " << it.otherCost
         << " and hold it " << it.stepsIdle << " steps more\n";
    else if (it.canRecompute)
      os << "kept, held " << it.stepsHeld << " steps, " << it.stepsIdle
         << " of them idle; recomputing it after those would cost " << it.otherCost << '\n';
    else
      os << "kept, held " << it.stepsHeld << " steps; it cannot be recomputed\n";
  }
  return text;
}

} // namespace llmmem::planning
