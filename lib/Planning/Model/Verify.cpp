//===- Verify.cpp - Check a plan against its problem --------------------------===//
//
// clang-format off
// The rules, each with its name in a Violation:
//
//   unknown-op            a step names no op of the problem
//   missing-op            an op that is not optional never runs
//   recomputed            an op with recompute == false runs twice
//   read-before-write     a step reads a value before any step has written it
//   no-such-instance      there is an offset for an instance that the steps do not make
//   resident-offset       an offset for a resident value, which lives outside the arena
//   missing-offset        an instance without an offset
//   duplicate-offset      an instance with two
//   no-such-workspace, missing-workspace, duplicate-workspace    the same for workspaces
//   misaligned            an offset that is no multiple of the alignment
//   out-of-range          a negative offset, or an end at 2^63 or more
//   overlap               two buffers held at once share bytes and no in-place pair allows it
//   peak, arena, cost, base-cost    a stated number that is not what the steps and offsets give, of
//                         each memory
//   time, base-time       the same of the times; missing where the problem needs version 2
//   copies                a list of round trips, where the plan has one, that is not what the steps
//                         and the offsets give: a value that never left and is said to be back, one
//                         left out, another step, another place on the host
//   alternative           one that its op does not have, or two for one op
//   memories              not as many as the problem has
//   bound                 a stated lower bound that is negative or above what some schedule needs:
//                         the plan's own (on the cost, where it fits), or, without a plan, the
//                         program order
//   over-budget           a feasible plan whose resident bytes and arena exceed the budget
//   status                a status that the rest of the plan, or the problem, contradicts
//   witness               a witness with a plan that fits; one that names what the problem does
//                         not have, or a value twice, or a larger value after a smaller one; more
//                         bytes than all values and a workspace side by side; no proof, or one
//                         that the budget satisfies, where the plan is called infeasible
//   seconds               a time that is negative or no number
// clang-format on
//
// First the live ranges are derived from the steps. Then one sweep over the steps keeps the
// occupied bytes of the arena in an ordered map, and each new entry must fit between its
// neighbours.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Model/Verify.h"
#include "VerifyParts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

namespace llmmem::planning {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

/// What a step writes, an input, or a step's workspace, over the steps in which it is held.
struct Held {
  int32_t first;    // step that writes it; -1: an input
  int32_t last;     // last step at which it is held
  ValueIndex value; // -1: a workspace
  int64_t bytes;
  std::optional<int64_t> offset;
  bool yielded = false; // an in-place result took its bytes
  MemoryIndex memory = 0;
};

/// The arenas of all memories: which bytes are occupied, and how much is held.
class Arenas {
public:
  explicit Arenas(size_t numMemories) : memories(numMemories) {}

  Wide peak(MemoryIndex memory) const { return memories[memory].peak; }
  int64_t size(MemoryIndex memory) const { return memories[memory].size; }
  void grow(const Held &it) {
    memories[it.memory].size = std::max(memories[it.memory].size, *it.offset + it.bytes);
  }

  /// Returns what is held already and shares bytes with `it`, or null.
  const Held *enter(Held &it) {
    Memory &memory = memories[it.memory];
    memory.live += it.bytes;
    if (!it.offset || it.bytes == 0)
      return nullptr;
    const int64_t end = *it.offset + it.bytes;
    auto above = memory.occupied.lower_bound(*it.offset);
    if (above != memory.occupied.end() && above->first < end)
      return above->second.owner;
    if (above != memory.occupied.begin() && std::prev(above)->second.end > *it.offset)
      return std::prev(above)->second.owner;
    memory.occupied.emplace(*it.offset, Extent{end, &it});
    return nullptr;
  }

  void leave(Held &it) {
    if (it.yielded)
      return;
    Memory &memory = memories[it.memory];
    memory.live -= it.bytes;
    auto at = it.offset ? memory.occupied.find(*it.offset) : memory.occupied.end();
    if (at != memory.occupied.end() && at->second.owner == &it)
      memory.occupied.erase(at);
  }

  /// Applies rule in_place: `it` may take the bytes of a value that this very step, a run of `op`,
  /// reads for the last time, at the same offset, if it is no larger. Until the step is over, all
  /// of the old value's bytes stay occupied.
  bool takeOver(Held &it, int32_t step, const Op &op) {
    if (!it.offset || it.bytes == 0)
      return false;
    auto at = memories[it.memory].occupied.find(*it.offset);
    if (at == memories[it.memory].occupied.end())
      return false;
    Held &old = *at->second.owner;
    if (old.value < 0 || old.last != step || old.first == step || old.bytes < it.bytes)
      return false;
    if (llvm::none_of(op.inPlace, [&](const InPlace &pair) {
          return pair.write == it.value && pair.read == old.value;
        }))
      return false;
    old.yielded = true;
    at->second.owner = &it;
    taken.push_back({&it, old.bytes - it.bytes});
    return true;
  }

  void endStep() {
    for (Memory &memory : memories)
      memory.peak = std::max(memory.peak, memory.live);
    for (auto [owner, freed] : taken) {
      Memory &memory = memories[owner->memory];
      memory.occupied.find(*owner->offset)->second.end -= freed;
      memory.live -= freed;
    }
    taken.clear();
  }

private:
  struct Extent {
    int64_t end;
    Held *owner;
  };
  struct Memory {
    Wide live = 0, peak = 0;
    int64_t size = 0;
    std::map<int64_t, Extent> occupied; // by begin
  };
  std::vector<Memory> memories;
  std::vector<std::pair<Held *, int64_t>> taken; // in this step: new owner, bytes it leaves over
};

class Verifier {
public:
  Verifier(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), stepCount(static_cast<int32_t>(plan.steps.size())),
        arenas(problem.numMemories()) {}

  std::vector<Violation> run() {
    if (!indexesHold()) // nothing below can be derived from such a problem or plan
      return std::move(violations);
    const Report reportTo = [this](int32_t step, llvm::StringRef rule, const llvm::Twine &message) {
      report(step, rule, message);
    };
    verifyWitness(problem, plan, reportTo);
    checkNotNegative();
    if (plan.steps.empty() && mustRun()) {
      verifyWithoutSteps(problem, plan, reportTo);
      return std::move(violations);
    }
    chooseAlternatives();
    checkRuns();
    deriveLifetimes();
    assignOffsets();
    assignWorkspaces();
    sweep();
    checkNumbers();
    checkCopies();
    checkTime();
    // Sorts by step. What concerns the whole plan (step -1) comes first.
    std::stable_sort(violations.begin(), violations.end(),
                     [](const Violation &a, const Violation &b) { return a.step < b.step; });
    return std::move(violations);
  }

private:
  void report(int32_t step, llvm::StringRef rule, const llvm::Twine &message) {
    violations.push_back({step, rule.str(), message.str()});
  }

  std::string name(const Held &held) const {
    if (held.value < 0)
      return "the workspace of step " + std::to_string(held.first);
    std::string it = "value " + std::to_string(problem.values[held.value].id);
    return held.first < 0 ? it : it + " of step " + std::to_string(held.first);
  }

  bool isValue(ValueIndex value) const {
    return value >= 0 && static_cast<size_t>(value) < problem.values.size();
  }

  bool mustRun() const {
    return llvm::any_of(problem.ops, [](const Op &op) { return !op.optional; });
  }

  void checkNotNegative() {
    if (!(plan.seconds >= 0) || plan.seconds > std::numeric_limits<double>::max())
      report(-1, "seconds", "expected a number of seconds, 0 or more");
    if (plan.costLowerBound < 0)
      report(-1, "bound", "the lower bound on the cost is negative");
    if (plan.time && plan.time->lowerBound < 0)
      report(-1, "bound", "the lower bound on the time is negative");
    for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory)
      if (useOf(plan, memory).peakLowerBound < 0)
        report(-1, "bound", "the lower bound on the peak" + in(problem, memory) + " is negative");
  }

  bool memoriesHold() {
    for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory)
      if (problem.alignmentOf(memory) < 1)
        report(-1, "problem", "the alignment must be at least 1");
    for (const Value &value : problem.values)
      if (value.memory < 0 || value.memory >= problem.numMemories())
        report(-1, "problem", "a value names no memory; check the problem first");
    for (const Op &op : problem.ops)
      if (op.workspaceMemory < 0 || op.workspaceMemory >= problem.numMemories())
        report(-1, "problem", "a workspace names no memory; check the problem first");
    if (plan.moreMemories.size() != problem.moreMemories.size())
      report(-1, "memories",
             "the plan has " + llvm::Twine(plan.moreMemories.size() + 1) +
                 " memories, the problem " + llvm::Twine(problem.numMemories()));
    return violations.empty();
  }

  bool indexesHold() {
    for (const Op &op : problem.ops)
      for (const auto *list : {&op.reads, &op.writes})
        for (ValueIndex value : *list)
          if (!isValue(value))
            report(-1, "problem", "an op names no value; check the problem first");
    for (int32_t step = 0; step < stepCount; ++step)
      if (plan.steps[step] < 0 || static_cast<size_t>(plan.steps[step]) >= problem.ops.size())
        report(step, "unknown-op", "the step names no op of the problem");
    return memoriesHold();
  }

  /// Chooses each op's cost and workspace in all of its runs.
  void chooseAlternatives() {
    for (const Op &op : problem.ops)
      variants.push_back({op.cost, op.workspace});
    std::vector<bool> chosen(problem.ops.size(), false);
    for (auto [op, number] : plan.alternatives) {
      if (op < 0 || static_cast<size_t>(op) >= problem.ops.size()) {
        report(-1, "alternative", "for an op that the problem does not have");
        continue;
      }
      const std::vector<Alternative> &others = problem.ops[op].alternatives;
      const std::string name = "op " + std::to_string(problem.ops[op].id);
      if (chosen[op])
        report(-1, "alternative", name + " has two");
      chosen[op] = true;
      if (number < 1 || static_cast<size_t>(number) > others.size())
        report(-1, "alternative",
               name + " has no alternative " + llvm::Twine(number) + "; expected 1 to " +
                   llvm::Twine(others.size()));
      else
        variants[op] = others[number - 1];
    }
  }

  void checkRuns() {
    std::vector<int32_t> runs(problem.ops.size(), 0);
    for (int32_t step = 0; step < stepCount; ++step) {
      const OpIndex op = plan.steps[step];
      if (++runs[op] > 1 && !problem.ops[op].recompute)
        report(step, "recomputed",
               "op " + llvm::Twine(problem.ops[op].id) + " must run exactly once");
    }
    for (size_t op = 0; op < runs.size(); ++op)
      if (runs[op] == 0 && !problem.ops[op].optional)
        report(-1, "missing-op", "op " + llvm::Twine(problem.ops[op].id) + " never runs");
    for (int32_t step = 0; step < stepCount; ++step)
      cost += variants[plan.steps[step]].cost;
    for (size_t op = 0; op < runs.size(); ++op)
      baseCost += problem.ops[op].optional ? 0 : variants[op].cost;
  }

  /// Fills `held` (inputs first, then by step) and `current`, each value's latest instance.
  void deriveLifetimes() {
    current.assign(problem.values.size(), -1);
    std::vector<bool> written(problem.values.size(), false);
    for (const Op &op : problem.ops)
      for (ValueIndex value : op.writes)
        written[value] = true;
    for (size_t value = 0; value < written.size(); ++value)
      if (!written[value] && !problem.values[value].resident)
        begin(-1, static_cast<ValueIndex>(value),
              -2); // it is held only if something reads or keeps it
    readsOf.resize(stepCount);
    for (int32_t step = 0; step < stepCount; ++step) {
      const Op &op = problem.ops[plan.steps[step]];
      for (ValueIndex value : op.reads)
        touch(step, value);
      for (ValueIndex value : op.writes)
        begin(step, value, step);
    }
    for (ValueIndex value :
         problem.keep) // it is held at the end, which is one position past the last step
      if (isValue(value) && current[value] >= 0)
        held[current[value]].last = stepCount;
  }

  void begin(int32_t step, ValueIndex value, int32_t last) {
    current[value] = static_cast<int32_t>(held.size());
    held.push_back({step, last, value, problem.values[value].bytes, std::nullopt, false,
                    problem.values[value].memory});
  }

  void touch(int32_t step, ValueIndex value) {
    if (current[value] >= 0) {
      held[current[value]].last = step;
      readsOf[step].push_back(current[value]);
    } else if (!problem.values[value].resident)
      report(step, "read-before-write",
             "value " + llvm::Twine(problem.values[value].id) + " is read and not yet written");
  }

  /// Returns the position of (step, value) in `held`, or -1. `held` is sorted by step, and a step
  /// writes little.
  int32_t find(int32_t step, ValueIndex value) const {
    auto at = std::lower_bound(held.begin(), held.end(), step,
                               [](const Held &it, int32_t step) { return it.first < step; });
    for (; at != held.end() && at->first == step; ++at)
      if (at->value == value)
        return static_cast<int32_t>(at - held.begin());
    return -1;
  }

  /// Assigns the offsets. It indexes inputs by value, so that a million inputs do not take
  /// quadratic time.
  void assignOffsets() {
    std::vector<int32_t> inputs(problem.values.size(), -1);
    for (size_t i = 0; i < held.size() && held[i].first < 0; ++i)
      inputs[held[i].value] = static_cast<int32_t>(i);
    for (const InstanceOffset &entry : plan.offsets) {
      const bool known = isValue(entry.value);
      const int32_t at = !known           ? -1
                         : entry.step < 0 ? inputs[entry.value]
                                          : find(entry.step, entry.value);
      if (known && problem.values[entry.value].resident)
        report(entry.step, "resident-offset",
               "value " + llvm::Twine(problem.values[entry.value].id) +
                   " is resident and lives outside the arena");
      else if (at < 0)
        report(entry.step, "no-such-instance",
               known ? "the step does not write value " +
                           std::to_string(problem.values[entry.value].id)
                     : std::string("an offset for a value that the problem does not have"));
      else if (held[at].offset)
        report(entry.step, "duplicate-offset", name(held[at]) + " has two offsets");
      else
        place(held[at], entry.offset);
    }
    for (const Held &it : held)
      if (!it.offset && it.last >= it.first)
        report(it.first, "missing-offset", name(it) + " has no offset");
  }

  void assignWorkspaces() {
    for (int32_t step = 0; step < stepCount; ++step)
      workspaces.push_back({step, step, -1, variants[plan.steps[step]].workspace, std::nullopt,
                            false, problem.ops[plan.steps[step]].workspaceMemory});
    for (const WorkspaceOffset &entry : plan.workspaces) {
      if (entry.step < 0 || entry.step >= stepCount || workspaces[entry.step].bytes == 0)
        report(entry.step, "no-such-workspace", "the step has no workspace");
      else if (workspaces[entry.step].offset)
        report(entry.step, "duplicate-workspace", "the workspace has two offsets");
      else
        place(workspaces[entry.step], entry.offset);
    }
    for (const Held &it : workspaces)
      if (it.bytes > 0 && !it.offset)
        report(it.first, "missing-workspace", "the workspace has no offset");
  }

  void place(Held &it, int64_t offset) {
    it.offset = offset;
    if (offset < 0 || offset > largest - it.bytes) {
      report(it.first, "out-of-range", name(it) + " at offset " + llvm::Twine(offset));
      it.offset = 0; // It is then not reported as missing too; its bytes are not checked.
      it.bytes = 0;
      return;
    }
    const int64_t alignment = problem.alignmentOf(it.memory);
    if (offset % alignment != 0)
      report(it.first, "misaligned",
             name(it) + " at offset " + llvm::Twine(offset) + ", which is no multiple of " +
                 llvm::Twine(alignment));
    arenas.grow(it);
  }

  void sweep() {
    std::vector<std::vector<Held *>> leaving(stepCount + 2);
    for (Held &it : held)
      if (it.last >= std::max(it.first, 0))
        leaving[it.last].push_back(&it);
    size_t next = 0;
    for (; next < held.size() && held[next].first < 0; ++next)
      if (held[next].last >= 0)
        enter(held[next], 0);
    arenas.endStep();
    for (int32_t step = 0; step < stepCount; ++step) {
      for (; next < held.size() && held[next].first == step; ++next)
        if (!arenas.takeOver(held[next], step, problem.ops[plan.steps[step]]))
          enter(held[next], step);
      if (workspaces[step].bytes > 0)
        enter(workspaces[step], step);
      arenas.endStep();
      for (Held *it : leaving[step])
        arenas.leave(*it);
      if (workspaces[step].bytes > 0)
        arenas.leave(workspaces[step]);
    }
  }

  void enter(Held &it, int32_t step) {
    if (const Held *other = arenas.enter(it))
      report(step, "overlap",
             name(it) + " at [" + llvm::Twine(*it.offset) + ", " +
                 llvm::Twine(*it.offset + it.bytes) + ") shares bytes with " + name(*other) +
                 " at " + llvm::Twine(*other->offset) + ", which is still held");
  }

  void checkNumbers() {
    bool fits = true;
    for (MemoryIndex memory = 0; memory < problem.numMemories(); ++memory) {
      const std::string where = in(problem, memory);
      const MemoryUse use = useOf(plan, memory);
      const Wide resident = residentBytes(problem, memory);
      const Wide peak = arenas.peak(memory) + resident, arena = arenas.size(memory);
      expect("peak", use.peak, peak, "the largest sum of live bytes" + where);
      expect("arena", use.arena, arena, "the end of the highest offset" + where);
      if (use.peakLowerBound > peak)
        report(-1, "bound",
               "the lower bound on the peak" + where + " is above the peak of the plan");
      const std::optional<int64_t> budget = problem.budgetOf(memory);
      if (!budget || resident + arena <= *budget)
        continue;
      fits = false;
      if (plan.status == Status::Feasible)
        report(-1, "over-budget",
               "resident bytes and arena" + where + " are " + text(resident + arena) +
                   ", the budget is " + llvm::Twine(*budget));
    }
    expect("cost", plan.cost, cost, "the costs of the steps");
    expect("base-cost", plan.baseCost, baseCost, "the cost of every op once");
    // A plan over the budget may cost less than every plan within it.
    if (fits && plan.costLowerBound > cost)
      report(-1, "bound", "the lower bound on the cost is above the cost of the plan");
    if (plan.status == Status::Infeasible && fits)
      report(-1, "status", "the plan fits and is called infeasible");
    if (plan.status == Status::Unknown && fits)
      report(-1, "status", "the plan fits and is called unknown");
  }

  /// Returns the round trips that the steps make: every run of a host-to-device copy, with the run
  /// of the device-to-host copy that wrote what it reads.
  std::vector<PlannedCopy> findCopies() const {
    std::vector<PlannedCopy> found;
    for (int32_t step = 0; step < stepCount; ++step) {
      const Op &op = problem.ops[plan.steps[step]];
      if (op.resource != Resource::HostToDevice)
        continue;
      for (int32_t read : readsOf[step])
        for (ValueIndex value : op.writes)
          if (const Held &host = held[read]; host.first >= 0)
            found.push_back({value, host.first, step, host.offset.value_or(0)});
    }
    return found;
  }

  void checkCopies() {
    if (plan.copies.empty())
      return; // it may be left out
    auto key = [](const PlannedCopy &it) {
      return std::tuple(it.back, it.value, it.leaves, it.hostOffset);
    };
    auto before = [&](const PlannedCopy &a, const PlannedCopy &b) { return key(a) < key(b); };
    std::vector<PlannedCopy> said = plan.copies, found = findCopies(), wrong, missing;
    std::sort(said.begin(), said.end(), before);
    std::sort(found.begin(), found.end(), before);
    std::set_difference(said.begin(), said.end(), found.begin(), found.end(),
                        std::back_inserter(wrong), before);
    std::set_difference(found.begin(), found.end(), said.begin(), said.end(),
                        std::back_inserter(missing), before);
    auto trip = [&](const PlannedCopy &it) {
      return (isValue(it.value) ? "value " + std::to_string(problem.values[it.value].id)
                                : std::string("a value that the problem does not have")) +
             " leaves at step " + std::to_string(it.leaves) + " and is back at step " +
             std::to_string(it.back) + ", from offset " + std::to_string(it.hostOffset) +
             " of the host";
    };
    for (const PlannedCopy &it : wrong)
      report(it.back, "copies", "the plan says that " + trip(it) + "; the steps do not");
    for (const PlannedCopy &it : missing)
      report(it.back, "copies", trip(it) + "; the plan's copies leave it out");
  }

  /// Checks the time of the steps with what they wait for (see PlanTime).
  void checkTime() {
    if (!plan.time && !problem.needsVersion2())
      return;
    if (!plan.time) {
      report(-1, "time",
             "is not stated, and the problem has several memories or resources, "
             "optional ops or alternatives");
      return;
    }
    std::vector<TimedStep> timed(stepCount);
    auto uses = [&](const Held &it, bool writes) {
      return ByteUse{it.memory, *it.offset, *it.offset + it.bytes, writes};
    };
    for (int32_t step = 0; step < stepCount; ++step) {
      TimedStep &it = timed[step];
      it.resource = problem.ops[plan.steps[step]].resource;
      it.cost = variants[plan.steps[step]].cost;
      for (int32_t read : readsOf[step]) {
        if (!problem.values[held[read].value].orderOnly)
          it.after.push_back(held[read].first);
        if (held[read].offset && held[read].bytes > 0)
          it.bytes.push_back(uses(held[read], false));
      }
      if (workspaces[step].offset && workspaces[step].bytes > 0)
        it.bytes.push_back(uses(workspaces[step], true));
    }
    for (const Held &it : held)
      if (it.first >= 0 && it.offset && it.bytes > 0)
        timed[it.first].bytes.push_back(uses(it, true));
    const Wide time = makespan(timed);
    expect("time", plan.time->time, time, "the end of the last step");
    expect("base-time", plan.time->base, baseTime(problem), "the end of the program order");
    if (plan.time->lowerBound > time)
      report(-1, "bound", "the lower bound on the time is above the time of the plan");
  }

  void expect(llvm::StringRef rule, int64_t stated, Wide found, const llvm::Twine &what) {
    if (stated != found)
      report(-1, rule, "stated as " + llvm::Twine(stated) + ", but " + what + " is " + text(found));
  }

  const Problem &problem;
  const Plan &plan;
  const int32_t stepCount;
  std::vector<Violation> violations;
  std::vector<Held> held;
  std::vector<Held> workspaces;              // by step
  std::vector<int32_t> current;              // by value: its latest instance in `held`, -1: none
  std::vector<Alternative> variants;         // by op: what it costs and holds in this plan
  std::vector<std::vector<int32_t>> readsOf; // by step: the instances that it reads
  Arenas arenas;
  Wide cost = 0, baseCost = 0;
};

} // namespace

std::vector<Violation> verify(const Problem &problem, const Plan &plan) {
  return Verifier(problem, plan).run();
}

} // namespace llmmem::planning
