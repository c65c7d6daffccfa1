//===- VerifyInfeasibility.cpp - Is it true that there is no plan? -----------===//
//
// A claim that there is no plan cannot be checked quickly, but schedules that need no search refute
// many false claims: the program order, with all buffers at separate bytes.
//

#include "VerifyParts.h"
#include <algorithm>
#include <limits>

namespace llmmem::planning {

std::string text(Wide number) {
  if (number < 0)
    return "-" + text(-number);
  std::string digits = number >= 10 ? text(number / 10) : std::string();
  return digits + static_cast<char>('0' + static_cast<int>(number % 10));
}

std::string in(const Problem &problem, MemoryIndex memory) {
  return memory == 0 ? std::string() : " in '" + std::string(problem.memoryName(memory)) + "'";
}

MemoryUse useOf(const Plan &plan, MemoryIndex memory) {
  if (memory == 0)
    return {plan.peak, plan.arena, plan.peakLowerBound};
  return plan.moreMemories[memory - 1];
}

Wide residentBytes(const Problem &problem, MemoryIndex memory) {
  Wide bytes = 0;
  for (const Value &value : problem.values)
    bytes += value.resident && value.memory == memory ? value.bytes : 0;
  return bytes;
}

static Wide inArena(const Problem &problem, MemoryIndex memory, int64_t bytes) {
  const Wide alignment = problem.alignmentOf(memory);
  return (static_cast<Wide>(bytes) + alignment - 1) / alignment * alignment;
}

static Wide leastWorkspace(const Problem &problem, const Op &op, MemoryIndex memory) {
  if (op.workspaceMemory != memory)
    return 0;
  int64_t bytes = op.workspace;
  for (const Alternative &other : op.alternatives)
    bytes = std::min(bytes, other.workspace);
  return inArena(problem, memory, bytes);
}

/// Returns the bytes that suffice for the program order where no two buffers share a byte.
static Wide bytesApart(const Problem &problem, MemoryIndex memory) {
  Wide bytes = residentBytes(problem, memory), workspace = 0;
  for (const Value &value : problem.values)
    if (!value.resident && value.memory == memory)
      bytes += inArena(problem, memory, value.bytes);
  for (const Op &op : problem.ops)
    workspace = std::max(workspace, leastWorkspace(problem, op, memory));
  return bytes + workspace;
}

/// Returns the most bytes that the ops hold in program order, without optional ones, in their
/// smallest workspaces, with sizes rounded up as an arena holds them and nothing in place. No bound
/// on the smallest footprint can be above it.
static Wide peakInProgramOrder(const Problem &problem, MemoryIndex memory) {
  const size_t count = problem.ops.size(), values = problem.values.size();
  std::vector<size_t> first(values, 0), end(values, 0);
  std::vector<bool> isThere(values, true); // inputs, and what ops write that must run
  for (const Op &op : problem.ops)
    for (ValueIndex value : op.writes)
      isThere[value] = false;
  for (size_t op = 0; op < count; ++op) {
    if (problem.ops[op].optional)
      continue;
    for (ValueIndex value : problem.ops[op].reads)
      end[value] = op + 1;
    for (ValueIndex value : problem.ops[op].writes)
      first[value] = op, end[value] = op + 1, isThere[value] = true;
  }
  for (ValueIndex value : problem.keep)
    if (value >= 0 && static_cast<size_t>(value) < values)
      end[value] = count + 1;
  std::vector<Wide> change(count + 2, 0);
  for (size_t value = 0; value < values; ++value) {
    const Value &it = problem.values[value];
    if (it.resident || it.memory != memory || !isThere[value])
      continue;
    change[first[value]] += inArena(problem, memory, it.bytes);
    change[end[value]] -= inArena(problem, memory, it.bytes);
  }
  Wide now = residentBytes(problem, memory), most = now;
  for (size_t op = 0; op < count; ++op) {
    now += change[op];
    most = std::max(most, now + leastWorkspace(problem, problem.ops[op], memory));
  }
  return most;
}

static bool everythingFits(const Problem &problem) {
  for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory)
    if (std::optional<int64_t> budget = problem.budgetOf(memory))
      if (bytesApart(problem, memory) > *budget)
        return false;
  return true;
}

void verifyWithoutSteps(const Problem &problem, const Plan &plan, const Report &report) {
  auto expect = [&](llvm::StringRef rule, int64_t stated, Wide found, const llvm::Twine &what) {
    if (stated != found)
      report(-1, rule, "stated as " + llvm::Twine(stated) + ", but " + what + " is " + text(found));
  };
  if (plan.status == Status::Feasible)
    report(-1, "status", "the plan is called feasible and has no steps");
  if (plan.status == Status::Infeasible && everythingFits(problem)) {
    std::string bytes;
    bool isBounded = false;
    for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory) {
      isBounded |= problem.budgetOf(memory).has_value();
      bytes += (memory ? " and " : "") + text(bytesApart(problem, memory)) + " bytes" +
               in(problem, memory);
    }
    report(-1, "status",
           !isBounded ? std::string("without a budget no problem is infeasible")
                      : "all values and the largest workspace fit side by side in " + bytes +
                            ", so the problem is not infeasible");
  }
  if (!plan.offsets.empty())
    report(-1, "no-such-instance", "offsets without steps");
  if (!plan.workspaces.empty())
    report(-1, "no-such-workspace", "workspaces without steps");
  if (!plan.alternatives.empty())
    report(-1, "alternative", "alternatives without steps");
  for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory) {
    const MemoryUse use = useOf(plan, memory);
    expect("peak", use.peak, 0, "that of no steps" + in(problem, memory));
    expect("arena", use.arena, 0, "that of no steps" + in(problem, memory));
    if (const Wide most = peakInProgramOrder(problem, memory); use.peakLowerBound > most)
      report(-1, "bound",
             "the lower bound on the peak" + in(problem, memory) + " is above the " + text(most) +
                 " bytes that the program order needs");
  }
  expect("cost", plan.cost, 0, "that of no steps");
  Wide baseCost = 0;
  for (const Op &op : problem.ops)
    baseCost += op.optional ? 0 : op.cost;
  if (plan.baseCost != 0) // 0 says nothing: `base_cost` may be left out
    expect("base-cost", plan.baseCost, baseCost, "the cost of every op once");
  if (!plan.time)
    return;
  expect("time", plan.time->time, 0, "that of no steps");
  if (plan.time->base != 0)
    expect("base-time", plan.time->base, baseTime(problem), "the end of the program order");
}

static void verifyWitnessValues(const Problem &problem, const Witness &witness,
                                const Report &report) {
  auto wrong = [&](const llvm::Twine &message) { report(-1, "witness", message); };
  std::vector<bool> named(problem.values.size(), false);
  int64_t before = std::numeric_limits<int64_t>::max();
  for (ValueIndex value : witness.values) {
    if (value < 0 || static_cast<size_t>(value) >= problem.values.size()) {
      wrong("names a value that the problem does not have");
      continue;
    }
    const std::string name = "value " + std::to_string(problem.values[value].id);
    if (named[value])
      wrong("names " + name + " twice");
    if (problem.values[value].bytes > before)
      wrong("names " + name + " after a smaller one, expected the largest first");
    named[value] = true;
    before = problem.values[value].bytes;
  }
}

void verifyWitness(const Problem &problem, const Plan &plan, const Report &report) {
  if (!plan.witness)
    return;
  const Witness &witness = *plan.witness;
  auto wrong = [&](const llvm::Twine &message) { report(-1, "witness", message); };
  if (plan.status == Status::Feasible)
    wrong("the plan is called feasible, and a witness says why there is none");
  if (witness.op && (*witness.op < 0 || static_cast<size_t>(*witness.op) >= problem.ops.size()))
    wrong("its step names no op of the problem");
  if (witness.memory < 0 || witness.memory >= problem.numMemories()) {
    wrong("names no memory of the problem");
    return;
  }
  verifyWitnessValues(problem, witness, report);
  const std::string where = in(problem, witness.memory);
  if (const Wide all = bytesApart(problem, witness.memory);
      witness.bytes < 0 || witness.bytes > all)
    wrong("says that " + llvm::Twine(witness.bytes) + " bytes are needed" + where +
          ", expected 0 to those of all values and the largest workspace, " + text(all));
  if (plan.status != Status::Infeasible)
    return;
  const std::optional<int64_t> budget = problem.budgetOf(witness.memory);
  if (!witness.proved)
    wrong("the plan is called infeasible, which its witness does not prove");
  else if (!budget)
    wrong("proves what is needed" + where + ", which has no budget");
  else if (witness.bytes <= *budget)
    wrong("proves that " + llvm::Twine(witness.bytes) + " bytes are needed" + where +
          ", and the budget is " + llvm::Twine(*budget));
}

} // namespace llmmem::planning
