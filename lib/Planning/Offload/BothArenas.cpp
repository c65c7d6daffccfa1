//===- BothArenas.cpp - Offsets on the device and on the host ---------------------===//

#include "BothArenas.h"
#include "Overlap/OverlapSearch.h"
#include <algorithm>

using namespace llmmem::planning;

BothArenas::BothArenas(const Problem &problem) : problem(problem) {
  for (MemoryIndex memory : {0, 1}) {
    Problem &view = views[memory];
    view = problem;
    view.moreMemories.clear();
    view.alignment = problem.alignmentOf(memory);
    view.budget = problem.budgetOf(memory);
    for (Value &value : view.values) {
      if (value.memory != memory)
        value.bytes = 0;
      value.memory = 0;
    }
    for (Op &op : view.ops)
      if (op.workspaceMemory != memory)
        op.workspace = op.workspaceMemory = 0;
  }
}

Plan BothArenas::placeIn(MemoryIndex memory, const std::vector<OpIndex> &steps, int64_t work,
                         Cancellation *cancellation) const {
  const Problem &view = views[memory];
  Plan plan;
  plan.steps = steps;
  PackOptions pack;
  pack.alignment = std::max<int64_t>(view.alignment, 1);
  pack.work = work;
  pack.cancellation = cancellation;
  if (view.budget)
    pack.capacity = std::max<int64_t>(0, *view.budget - view.residentBytes());
  placeSteps(view, plan, pack);
  return plan;
}

void BothArenas::place(Plan &plan, int64_t work, Cancellation *cancellation) const {
  const Plan device = placeIn(0, plan.steps, work, cancellation);
  const Plan host = placeIn(1, plan.steps, work, cancellation);
  plan.offsets.clear();
  // Both plans list the same instances in the same order.
  for (size_t at = 0; at < device.offsets.size(); ++at) {
    const bool isOfHost = problem.values[device.offsets[at].value].memory != 0;
    plan.offsets.push_back(isOfHost ? host.offsets[at] : device.offsets[at]);
  }
  plan.workspaces = device.workspaces;
  plan.peak = device.peak;
  plan.arena = device.arena;
  plan.moreMemories = {{host.peak, host.arena, 0}};
  plan.cost = plan.baseCost = 0;
  for (OpIndex op : plan.steps)
    plan.cost += problem.ops[op].cost;
  for (const Op &op : problem.ops)
    plan.baseCost += op.optional ? 0 : op.cost;
  plan.copies = listCopies(problem, plan);
  retime(problem, plan);
}

MemoryIndex BothArenas::overfull(const Plan &plan) const {
  const int64_t arenas[] = {plan.arena, plan.moreMemories[0].arena};
  for (MemoryIndex memory : {0, 1})
    if (const std::optional<int64_t> budget = problem.budgetOf(memory);
        budget && problem.residentBytes(memory) > *budget - arenas[memory])
      return memory;
  return -1;
}

std::vector<PlannedCopy> llmmem::planning::listCopies(const Problem &problem, const Plan &plan) {
  std::vector<int32_t> upOf(problem.values.size(), -1); // the step that wrote the host's value
  std::vector<int64_t> offsetOf(problem.values.size(), 0);
  std::vector<PlannedCopy> copies;
  size_t next = 0;
  for (int32_t step = 0; step < static_cast<int32_t>(plan.steps.size()); ++step) {
    const Op &op = problem.ops[plan.steps[step]];
    if (op.resource == Resource::HostToDevice)
      for (ValueIndex host : op.reads)
        for (ValueIndex value : op.writes)
          if (upOf[host] >= 0)
            copies.push_back({value, upOf[host], step, offsetOf[host]});
    if (op.resource != Resource::DeviceToHost)
      continue;
    for (; next < plan.offsets.size() && plan.offsets[next].step <= step; ++next)
      offsetOf[plan.offsets[next].value] = plan.offsets[next].offset;
    for (ValueIndex host : op.writes)
      upOf[host] = step;
  }
  return copies;
}
