//===- PlanTimeline.cpp - What a plan holds, step by step ----------------------===//

#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "Overlap/Timeline.h"
#include "llmmem/Planning/Model/Decisions.h"
#include "llmmem/Planning/Model/InPlace.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

using Place = std::pair<int32_t, ValueIndex>; // the step that writes an instance, and its value

class TimelineBuilder {
public:
  TimelineBuilder(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), graph(problem) {
    for (const InstanceOffset &entry : plan.offsets)
      offsets[{entry.step, entry.value}] = entry.offset;
    const std::vector<Decision> decisions = findDecisions(graph, plan.steps);
    for (const ExplainedValue &value : explainPlan(problem, plan)) {
      const Decision decision = decisions[value.value];
      timeline.saved.push_back(
          {value, decision == Decision::Unsaved ? value.runs == 1 : decision == Decision::Keep});
      saved.insert(value.value);
    }
  }

  PlanTimeline run() {
    timeline.resident = problem.residentBytes();
    timeline.arena = plan.arena;
    addSteps();
    const std::vector<Instance> list = instances(graph, plan.steps);
    findTakeovers(list);
    for (const Instance &instance : list)
      addInstance(instance);
    for (const WorkspaceOffset &entry : plan.workspaces)
      addWorkspace(entry);
    llvm::stable_sort(timeline.buffers, [](const TimelineBuffer &a, const TimelineBuffer &b) {
      return a.writtenAt < b.writtenAt;
    });
    addLiveBytes();
    return std::move(timeline);
  }

private:
  int32_t lastStep() const { return static_cast<int32_t>(plan.steps.size()) - 1; }

  void addSteps() {
    const std::vector<StepTime> times = stepTimes(problem, plan);
    std::vector<int32_t> runs(problem.ops.size(), 0);
    for (int32_t step = 0; step <= lastStep(); ++step) {
      const OpIndex op = plan.steps[step];
      timeline.steps.push_back({op, runs[op]++, times[step].start, times[step].end, 0});
    }
  }

  /// Finds which results take the bytes of which operands: the choice that the peak counts on.
  void findTakeovers(const std::vector<Instance> &list) {
    std::vector<llvm::DenseSet<ValueIndex>> dying(plan.steps.size());
    for (const Instance &instance : list)
      if (instance.to >= 0 && instance.to <= lastStep())
        dying[instance.to].insert(instance.value);
    for (int32_t step = 0; step <= lastStep(); ++step) {
      const Op &op = problem.ops[plan.steps[step]];
      for (const InPlace &pair : chooseInPlace(
               problem, op, [&](ValueIndex value) { return dying[step].contains(value); })) {
        takesOver[{step, pair.write}] = pair.read;
        if (problem.values[pair.write].bytes == problem.values[pair.read].bytes)
          handedOver.insert({step, pair.read});
      }
    }
  }

  BufferKind kindOf(ValueIndex value) const {
    const OpIndex writer = graph.writer(value);
    if (writer < 0)
      return BufferKind::Input;
    if (saved.contains(value))
      return BufferKind::Saved;
    return problem.ops[writer].phase == Phase::Backward ? BufferKind::Gradient
                                                        : BufferKind::Temporary;
  }

  void addInstance(const Instance &instance) {
    const Value &value = problem.values[instance.value];
    auto offset = offsets.find({instance.from, instance.value});
    if (value.resident || value.memory != 0 || value.bytes == 0 || offset == offsets.end())
      return;
    auto taken = takesOver.find({instance.from, instance.value});
    const ValueIndex operand = taken == takesOver.end() ? -1 : taken->second;
    const bool countsLater = operand >= 0 && problem.values[operand].bytes > value.bytes;
    const int32_t from = std::max(instance.from, 0) + (countsLater ? 1 : 0);
    const int32_t to = handedOver.contains({instance.to, instance.value})
                           ? instance.to - 1
                           : std::min(instance.to, lastStep());
    if (from <= to)
      timeline.buffers.push_back({instance.value, kindOf(instance.value), from, to, value.bytes,
                                  offset->second, instance.from, operand});
  }

  void addWorkspace(const WorkspaceOffset &entry) {
    const Op &op = problem.ops[plan.steps[entry.step]];
    if (op.workspaceMemory == 0)
      timeline.buffers.push_back({-1, BufferKind::Workspace, entry.step, entry.step, op.workspace,
                                  entry.offset, entry.step, -1});
  }

  void addLiveBytes() {
    std::vector<int64_t> change(timeline.steps.size() + 1, 0);
    for (const TimelineBuffer &buffer : timeline.buffers) {
      change[buffer.from] += buffer.bytes;
      change[buffer.to + 1] -= buffer.bytes;
    }
    timeline.peak = timeline.resident;
    if (timeline.steps.empty()) // no step with which the kept inputs could be counted
      for (ValueIndex value : problem.keep)
        timeline.peak += problem.values[value].resident ? 0 : problem.values[value].bytes;
    int64_t live = timeline.resident;
    for (int32_t step = 0; step <= lastStep(); ++step) {
      timeline.steps[step].live = live += change[step];
      if (timeline.peakStep < 0 || live > timeline.peak) {
        timeline.peak = live;
        timeline.peakStep = step;
      }
    }
  }

  const Problem &problem;
  const Plan &plan;
  Graph graph;
  PlanTimeline timeline;
  llvm::DenseMap<Place, int64_t> offsets;
  llvm::DenseMap<Place, ValueIndex> takesOver; // result -> operand
  llvm::DenseSet<Place> handedOver; // operands, by the step that takes all of their bytes
  llvm::DenseSet<ValueIndex> saved;
};

std::string validText(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

void printOps(const Problem &problem, llvm::json::OStream &json) {
  for (const Op &op : problem.ops)
    json.object([&] {
      json.attribute("name", validText(op.name));
      json.attribute("cost", op.cost);
      json.attribute("phase", llvm::StringRef(op.phase == Phase::None ? "" : nameOf(op.phase)));
      json.attribute("result", validText(nameOfResult(problem, op)));
      if (op.block)
        json.attribute("block", *op.block);
      if (op.resource != Resource::Compute)
        json.attribute("resource", llvm::StringRef(nameOf(op.resource)));
    });
}

/// Prints a row of numbers, which most of a timeline is.
template <typename... Numbers>
void printRow(llvm::json::OStream &json, Numbers... numbers) {
  json.array([&] { (json.value(static_cast<int64_t>(numbers)), ...); });
}

} // namespace

std::string_view nameOf(BufferKind kind) {
  static constexpr std::string_view names[] = {"saved", "gradient", "temporary", "workspace",
                                               "input"};
  return names[static_cast<size_t>(kind)];
}

std::string nameOfResult(const Problem &problem, const Op &op) {
  return op.writes.empty() ? "" : problem.values[op.writes.front()].name;
}

PlanTimeline timelineOf(const Problem &problem, const Plan &plan) {
  return TimelineBuilder(problem, plan).run();
}

std::string timelineJson(const Problem &problem, const PlanTimeline &timeline) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "llmmem-timeline");
    json.attribute("version", 1);
    json.attribute("resident", timeline.resident);
    json.attribute("peak", timeline.peak);
    json.attribute("peak_step", timeline.peakStep);
    json.attribute("arena", timeline.arena);
    json.attribute("times", timeline.isMeasured ? "measured" : "predicted");
    json.attributeArray("kinds", [&] {
      for (BufferKind kind : allBufferKinds)
        json.value(llvm::StringRef(nameOf(kind)));
    });
    json.attributeArray("ops", [&] { printOps(problem, json); });
    json.attributeArray("values", [&] {
      for (const Value &value : problem.values)
        json.value(validText(value.name));
    });
    json.attributeArray("steps", [&] {
      for (const TimelineStep &step : timeline.steps)
        printRow(json, step.op, step.run, step.start, step.end, step.live);
    });
    json.attributeArray("buffers", [&] {
      for (const TimelineBuffer &it : timeline.buffers)
        printRow(json, it.value, it.kind, it.from, it.to, it.bytes, it.offset, it.writtenAt,
                 it.takesOver);
    });
    json.attributeArray("saved", [&] {
      const Graph graph(problem);
      for (const auto &[it, kept] : timeline.saved)
        printRow(json, it.value, it.bytes, it.runs, it.stepsHeld, it.stepsIdle, it.otherCost,
                 it.canRecompute, kept, graph.writer(it.value));
    });
  });
  text += '\n';
  return text;
}

} // namespace llmmem::planning
