//===- ExplainRepeats.cpp - Why a step runs ----------------------------------------===//

#include "ExplainRepeats.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Support/ByteSize.h"

namespace llmmem::planning {
namespace {

/// Finds what the repeats of a plan make room for.
class RepeatExplainer {
public:
  RepeatExplainer(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), graph(problem), usage(profile(graph, plan.steps)),
        all(instances(graph, plan.steps)) {}

  /// Returns the first run of an op, or -1 where it never runs.
  int32_t firstRun(OpIndex op) const {
    const auto first = llvm::find(plan.steps, op);
    return first == plan.steps.end() ? -1 : static_cast<int32_t>(first - plan.steps.begin());
  }
  std::vector<RepeatReason> at(int32_t step) const {
    std::vector<RepeatReason> reasons;
    for (ValueIndex value : graph.writes(plan.steps[step]))
      if (const Instance *before = instanceBefore(value, step);
          before && problem.values[value].bytes > 0)
        reasons.push_back(reasonFor(*before, step));
    return reasons;
  }
  void print(const RepeatReason &reason, llvm::raw_ostream &os) const;
  void printStep(int32_t step, llvm::raw_ostream &os) const;
  /// Returns the steps that write `value` again.
  std::vector<int32_t> repeatsOf(ValueIndex value) const {
    std::vector<int32_t> repeats;
    for (const Instance &each : all)
      if (each.value == value)
        repeats.push_back(each.from);
    if (!repeats.empty())
      repeats.erase(repeats.begin());
    return repeats;
  }
  std::string stepText(int32_t step) const {
    return "step " + std::to_string(step) + ", '" + problem.ops[plan.steps[step]].name + "'";
  }

private:
  const Instance *instanceBefore(ValueIndex value, int32_t step) const {
    const Instance *before = nullptr;
    for (const Instance &each : all)
      if (each.value == value && each.from < step)
        before = &each;
    return before;
  }
  int32_t firstReaderFrom(ValueIndex value, int32_t step) const {
    const auto count = static_cast<int32_t>(plan.steps.size());
    for (int32_t later = step + 1; later < count; ++later)
      if (llvm::is_contained(graph.reads(plan.steps[later]), value))
        return later;
    return count;
  }
  RepeatReason reasonFor(const Instance &before, int32_t step) const;

  const Problem &problem;
  const Plan &plan;
  const Graph graph;
  const Profile usage;
  const std::vector<Instance> all; // by the step that writes them
};

RepeatReason RepeatExplainer::reasonFor(const Instance &before, int32_t step) const {
  RepeatReason reason{before.value, before.to, firstReaderFrom(before.value, step), -1, 0, {}, 0};
  for (int32_t between = before.to + 1; between < step; ++between)
    if (reason.fullest < 0 || usage.bytes[between] > reason.bytes) {
      reason.fullest = between;
      reason.bytes = usage.bytes[between];
    }
  if (reason.fullest < 0)
    return reason;
  int64_t largest = 0;
  for (const Instance &each : all)
    if (each.from > before.to && each.from <= reason.fullest && reason.fullest <= each.to &&
        graph.bytes(each.value) > largest) {
      largest = graph.bytes(each.value);
      reason.roomFor = each.value;
    }
  if (const int64_t workspace = graph.workspace(plan.steps[reason.fullest]); workspace > largest) {
    reason.workspace = workspace;
    reason.roomFor.reset();
  }
  return reason;
}

void RepeatExplainer::print(const RepeatReason &reason, llvm::raw_ostream &os) const {
  const int64_t bytes = problem.values[reason.value].bytes;
  os << "    " << nameOf(problem, reason.value) << " (" << formatByteSize(bytes)
     << ") was evicted after step " << reason.lastUse << "; ";
  if (reason.reader < static_cast<int32_t>(plan.steps.size()))
    os << stepText(reason.reader) << ", reads it next\n";
  else
    os << "it is kept to the end\n";
  if (reason.fullest < 0)
    return;
  os << "      in between " << formatByteSize(reason.bytes) << " are held at "
     << stepText(reason.fullest) << ", and " << formatByteSize(reason.bytes + bytes)
     << " would be with it";
  if (reason.roomFor)
    os << ": it makes room for " << nameOf(problem, *reason.roomFor) << " ("
       << formatByteSize(problem.values[*reason.roomFor].bytes) << ")";
  else if (reason.workspace > 0)
    os << ": it makes room for the workspace of that op (" << formatByteSize(reason.workspace)
       << ")";
  os << '\n';
}

void RepeatExplainer::printStep(int32_t step, llvm::raw_ostream &os) const {
  const OpIndex op = plan.steps[step];
  const int32_t first = firstRun(op);
  os << "  " << stepText(step);
  if (step == first) {
    const auto runs = llvm::count(plan.steps, op);
    os << ": the first run of this op" << (runs > 1 ? "" : ", and the only one") << '\n';
  } else {
    os << ": recomputes what step " << first << " wrote first, at a cost of "
       << problem.ops[op].cost << '\n';
  }
  for (const RepeatReason &reason : at(step))
    print(reason, os);
}

} // namespace

std::vector<RepeatReason> reasonsOfRepeat(const Problem &problem, const Plan &plan, int32_t step) {
  return RepeatExplainer(problem, plan).at(step);
}

Result<std::string> explainStep(const Problem &problem, const Plan &plan, llvm::StringRef number) {
  int32_t step = 0;
  if (number.getAsInteger(10, step) || step < 0 || step >= static_cast<int32_t>(plan.steps.size()))
    return Failure{"'step:" + number.str() + "' is no step of the plan, which has " +
                   std::to_string(plan.steps.size()) + ", counted from 0"};
  std::string text;
  llvm::raw_string_ostream os(text);
  const RepeatExplainer explainer(problem, plan);
  explainer.printStep(step, os);
  printSearcher(plan, os);
  return text;
}

void printRepeatsOf(const Problem &problem, const Plan &plan, ValueIndex value,
                    llvm::raw_ostream &os) {
  const RepeatExplainer explainer(problem, plan);
  for (int32_t step : explainer.repeatsOf(value)) {
    os << "    recomputed at " << explainer.stepText(step) << '\n';
    for (const RepeatReason &reason : explainer.at(step))
      if (reason.value == value)
        explainer.print(reason, os);
  }
}

void printSearcher(const Plan &plan, llvm::raw_ostream &os) {
  if (!plan.searcher.empty())
    os << "  the schedule was found by: " << plan.searcher << '\n';
}

} // namespace llmmem::planning
