//===- Explain.cpp - Why a plan keeps what it keeps -----------------------------===//

#include "ExplainRepeats.h"
#include "llmmem/Planning/Model/Decisions.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
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

  std::vector<ExplainedValue> run() {
    std::vector<ExplainedValue> saved;
    for (ValueIndex value = 0; value < graph.numValues(); ++value)
      if (isSaved(value))
        saved.push_back(explain(value));
    llvm::stable_sort(
        saved, [](const ExplainedValue &a, const ExplainedValue &b) { return a.bytes > b.bytes; });
    return saved;
  }

  ExplainedValue explain(ValueIndex value) const;
  /// Says whether the value is held while `step` runs, which may write it.
  bool isHeldWhile(ValueIndex value, int32_t step) const {
    return llvm::any_of(liveRanges[value], [&](const Instance &range) {
      return problem.values[value].resident || (range.from <= step && step <= range.to);
    });
  }

private:
  bool isHeld(ValueIndex value, int32_t step) const;

  bool isSaved(ValueIndex value) const {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || problem.values[value].bytes == 0)
      return false;
    if (!hasPhases)
      return runs[writer] > 1 || longestIdle(value).second > 1;
    return planning::isSaved(graph, value, [&](OpIndex op) { return problem.ops[op].phase; });
  }

  /// Returns the longest idle range: the step of the use that ends it, and its length.
  std::pair<int32_t, int32_t> longestIdle(ValueIndex value) const {
    std::pair<int32_t, int32_t> longest = {0, 0};
    for (size_t i = 1; i < uses[value].size(); ++i)
      if (const int32_t idle = uses[value][i] - uses[value][i - 1]; idle > longest.second)
        longest = {uses[value][i], idle};
    return longest;
  }

  /// Returns the cost of running `op` again just before `step`, with every ancestor whose result is
  /// not live there. Values that cannot be recomputed (inputs, results of ops that run once) would
  /// stay live.
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

ExplainedValue Explainer::explain(ValueIndex value) const {
  const OpIndex writer = graph.writer(value);
  ExplainedValue saved = {value, problem.values[value].bytes, runs[writer], 0, 0, 0, true};
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

/// Says whether an instance that an earlier step wrote is held through `step`.
bool Explainer::isHeld(ValueIndex value, int32_t step) const {
  if (problem.values[value].resident)
    return true;
  auto after = llvm::upper_bound(liveRanges[value], step, [](int32_t step, const Instance &range) {
    return step <= range.from;
  });
  return after != liveRanges[value].begin() && std::prev(after)->to >= step;
}

void printSaved(const Problem &problem, const ExplainedValue &it, llvm::raw_ostream &os) {
  os << "  " << nameOf(problem, it.value) << " (" << formatByteSize(it.bytes) << "): ";
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

/// Describes the op at a step. Where nothing is held while a step runs, no step is the fullest, and
/// `step` is -1.
std::string opText(const Problem &problem, const Plan &plan, int32_t step) {
  if (step < 0)
    return "no step";
  return "step " + std::to_string(step) + ", where '" + problem.ops[plan.steps[step]].name +
         "' runs";
}

} // namespace

std::string nameOf(const Problem &problem, ValueIndex index) {
  const Value &value = problem.values[index];
  return value.name.empty() ? "value " + std::to_string(value.id) : value.name;
}

std::vector<ExplainedValue> explainPlan(const Problem &problem, const Plan &plan) {
  return Explainer(problem, plan).run();
}

std::string explanationText(const Problem &problem, const std::vector<ExplainedValue> &saved) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "saved values, largest first:\n";
  for (const ExplainedValue &it : saved)
    printSaved(problem, it, os);
  return text;
}

Result<std::string> explainNamed(const Problem &problem, const Plan &plan, std::string_view name) {
  if (llvm::StringRef number = name; number.consume_front("step:"))
    return explainStep(problem, plan, number);
  const Graph graph(problem);
  std::vector<ValueIndex> asked;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (const OpIndex writer = graph.writer(value);
        problem.values[value].name == name || (writer >= 0 && problem.ops[writer].name == name))
      asked.push_back(value);
  if (asked.empty())
    return Failure{"no value or op is named '" + std::string(name) +
                   "'; of a step of the plan, ask for step:N"};
  const int32_t peak = profile(graph, plan.steps).peakStep;
  const Explainer explainer(problem, plan);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (ValueIndex value : asked) {
    if (graph.writer(value) < 0)
      os << "  " << nameOf(problem, value) << " (" << formatByteSize(problem.values[value].bytes)
         << "): an input, which nothing writes\n";
    else
      printSaved(problem, explainer.explain(value), os);
    os << "    " << (explainer.isHeldWhile(value, peak) ? "held" : "not held") << " at the peak, "
       << opText(problem, plan, peak) << '\n';
    printRepeatsOf(problem, plan, value, os);
  }
  printSearcher(plan, os);
  return text;
}

std::string peakText(const Problem &problem, const Plan &plan) {
  constexpr size_t kShown = 8;
  const Graph graph(problem);
  const int32_t peak = profile(graph, plan.steps).peakStep;
  const Explainer explainer(problem, plan);
  std::vector<ValueIndex> held;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (!problem.values[value].resident && problem.values[value].bytes > 0 &&
        explainer.isHeldWhile(value, peak))
      held.push_back(value);
  llvm::stable_sort(held, [&](ValueIndex a, ValueIndex b) {
    return problem.values[a].bytes > problem.values[b].bytes;
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  if (peak < 0) {
    os << "peak " << formatByteSize(plan.peak) << ", held throughout; resident "
       << formatByteSize(problem.residentBytes()) << '\n';
    return text;
  }
  os << "peak " << formatByteSize(plan.peak) << " at " << opText(problem, plan, peak)
     << "; resident " << formatByteSize(problem.residentBytes())
     << ", and the largest held there:\n";
  if (const int64_t workspace = problem.ops[plan.steps[peak]].workspace)
    os << "  workspace (" << formatByteSize(workspace) << ")\n";
  for (ValueIndex value : llvm::ArrayRef(held).take_front(kShown))
    os << "  " << nameOf(problem, value) << " (" << formatByteSize(problem.values[value].bytes)
       << ")\n";
  return text;
}

} // namespace llmmem::planning
