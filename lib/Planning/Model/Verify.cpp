//===- Verify.cpp - Is this plan right? ---------------------------------------===//
//
// clang-format off
// The rules, each with its name as it stands in a Violation:
//
//   unknown-op            a step names no op of the problem
//   missing-op            an op never runs
//   recomputed            an op with recompute == false runs twice
//   read-before-write     a step reads a value that nobody has written yet
//   no-such-instance      an offset for an instance that the steps do not make
//   resident-offset       an offset for a resident value, which lives outside the arena
//   missing-offset        an instance without an offset
//   duplicate-offset      an instance with two
//   no-such-workspace, missing-workspace, duplicate-workspace    the same for workspaces
//   misaligned            an offset that is no multiple of the alignment
//   out-of-range          a negative offset, or an end at 2^63 or more
//   overlap               two things held at once share bytes and no in-place pair allows it
//   peak, arena, cost, base-cost    a stated number that is not what the steps and offsets give
//   bound                 a stated lower bound that is negative or above what some schedule needs:
//                         the plan's own, or, without a plan, the program order
//   over-budget           a feasible plan whose resident bytes and arena exceed the budget
//   status                a status that the rest of the plan, or the problem, contradicts
//   witness               a witness beside a plan that fits; one that names what the problem does
//                         not have, or a value twice, or a larger value behind a smaller one; more
//                         bytes than all values and a workspace side by side; no proof, or one
//                         that the budget satisfies, where the plan is called infeasible
//   seconds               a time that is negative or no number
// clang-format on
//
// First the lifetimes are derived from the steps, then one sweep over the steps keeps the occupied
// bytes of the arena in an ordered map, where whatever comes in must fit between its neighbours.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Model/Verify.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>

namespace llmmem::planning {
namespace {

using Wide = __int128; // sums over repeats may leave 64 bits

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

std::string text(Wide number) {
  if (number < 0)
    return "-" + text(-number);
  std::string digits = number >= 10 ? text(number / 10) : std::string();
  return digits + static_cast<char>('0' + static_cast<int>(number % 10));
}

/// What a step writes, or an input, or a step's workspace, over the steps in which it is held.
struct Held {
  int32_t first;    // step that writes it; -1: an input
  int32_t last;     // last step at which it is held
  ValueIndex value; // -1: a workspace
  int64_t bytes;
  std::optional<int64_t> offset;
  bool yielded = false; // an in-place result took its bytes
};

class Verifier {
public:
  Verifier(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), stepCount(static_cast<int32_t>(plan.steps.size())) {}

  std::vector<Violation> run() {
    if (!indexesHold()) // nothing below could be derived from such a problem or plan
      return std::move(violations);
    checkTime();
    checkWitness();
    if (plan.steps.empty() && !problem.ops.empty()) {
      checkAbsentPlan();
      return std::move(violations);
    }
    checkRuns();
    deriveLifetimes();
    assignOffsets();
    assignWorkspaces();
    sweep();
    checkNumbers();
    // In step order; what concerns the whole plan (step -1) comes first.
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

  /// Without steps the numbers of a plan are 0, and what is proved of every schedule must hold of
  /// those that anybody can name: the program order, with every buffer at bytes of its own.
  void checkAbsentPlan() {
    if (plan.status == Status::Feasible)
      report(-1, "status", "the plan is called feasible and has no steps");
    if (plan.status == Status::Infeasible && !problem.budget)
      report(-1, "status", "without a budget no problem is infeasible");
    if (plan.status == Status::Infeasible && problem.budget && bytesApart() <= *problem.budget)
      report(-1, "status",
             "all values and the largest workspace fit side by side in " + text(bytesApart()) +
                 " bytes, so the problem is not infeasible");
    if (!plan.offsets.empty())
      report(-1, "no-such-instance", "offsets without steps");
    if (!plan.workspaces.empty())
      report(-1, "no-such-workspace", "workspaces without steps");
    expect("peak", plan.peak, 0, "that of no steps");
    expect("arena", plan.arena, 0, "that of no steps");
    expect("cost", plan.cost, 0, "that of no steps");
    for (const Op &op : problem.ops)
      baseCost += op.cost;
    if (plan.baseCost != 0) // 0 says nothing: `base_cost` may be left out
      expect("base-cost", plan.baseCost, baseCost, "the cost of every op once");
    checkBoundsNotNegative();
    if (const Wide most = peakInProgramOrder(); plan.peakLowerBound > most)
      report(-1, "bound",
             "the lower bound on the peak is above the " + text(most) +
                 " bytes that the program order needs");
  }

  Wide inArena(int64_t bytes) const {
    return (static_cast<Wide>(bytes) + problem.alignment - 1) / problem.alignment *
           problem.alignment;
  }

  /// What suffices for every plan that recomputes nothing: no two buffers share a byte.
  Wide bytesApart() const {
    Wide bytes = 0, workspace = 0;
    for (const Value &value : problem.values)
      bytes += value.resident ? value.bytes : inArena(value.bytes);
    for (const Op &op : problem.ops)
      workspace = std::max(workspace, inArena(op.workspace));
    return bytes + workspace;
  }

  /// The most bytes that the ops hold as they stand, sizes rounded up as an arena holds them and
  /// nothing in place: no bound on the least need can be above it.
  Wide peakInProgramOrder() const {
    const size_t count = problem.ops.size();
    std::vector<size_t> first(problem.values.size(), 0), end(problem.values.size(), 0);
    for (size_t op = 0; op < count; ++op) {
      for (ValueIndex value : problem.ops[op].reads)
        end[value] = op + 1;
      for (ValueIndex value : problem.ops[op].writes)
        first[value] = op, end[value] = op + 1;
    }
    for (ValueIndex value : problem.keep)
      if (isValue(value))
        end[value] = count + 1;
    std::vector<Wide> change(count + 2, 0);
    for (size_t value = 0; value < problem.values.size(); ++value)
      if (!problem.values[value].resident) {
        change[first[value]] += inArena(problem.values[value].bytes);
        change[end[value]] -= inArena(problem.values[value].bytes);
      }
    Wide now = residentBytes(), most = now;
    for (size_t op = 0; op < count; ++op) {
      now += change[op];
      most = std::max(most, now + inArena(problem.ops[op].workspace));
    }
    return most;
  }

  void checkTime() {
    if (!(plan.seconds >= 0) || plan.seconds > std::numeric_limits<double>::max())
      report(-1, "seconds", "expected a number of seconds, 0 or more");
  }

  void checkWitness() {
    if (!plan.witness)
      return;
    const Witness &witness = *plan.witness;
    auto wrong = [&](const llvm::Twine &message) { report(-1, "witness", message); };
    if (plan.status == Status::Feasible)
      wrong("the plan is called feasible, and a witness says why there is none");
    if (witness.op && (*witness.op < 0 || static_cast<size_t>(*witness.op) >= problem.ops.size()))
      wrong("its step names no op of the problem");
    std::vector<bool> named(problem.values.size(), false);
    int64_t before = largest;
    for (ValueIndex value : witness.values) {
      if (!isValue(value)) {
        wrong("names a value that the problem does not have");
        continue;
      }
      if (named[value])
        wrong("names value " + llvm::Twine(problem.values[value].id) + " twice");
      if (problem.values[value].bytes > before)
        wrong("names value " + llvm::Twine(problem.values[value].id) +
              " behind a smaller one, expected the largest first");
      named[value] = true;
      before = problem.values[value].bytes;
    }
    if (witness.bytes < 0 || witness.bytes > bytesApart())
      wrong("says that " + llvm::Twine(witness.bytes) +
            " bytes are needed, expected 0 to those of all values and the largest workspace, " +
            text(bytesApart()));
    if (plan.status != Status::Infeasible)
      return;
    if (!witness.proved)
      wrong("the plan is called infeasible, which its witness does not prove");
    else if (problem.budget && witness.bytes <= *problem.budget)
      wrong("proves that " + llvm::Twine(witness.bytes) + " bytes are needed, and the budget is " +
            llvm::Twine(*problem.budget));
  }

  void checkBoundsNotNegative() {
    if (plan.costLowerBound < 0)
      report(-1, "bound", "the lower bound on the cost is negative");
    if (plan.peakLowerBound < 0)
      report(-1, "bound", "the lower bound on the peak is negative");
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
    if (problem.alignment < 1)
      report(-1, "problem", "the alignment must be at least 1");
    return violations.empty();
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
      if (runs[op] == 0)
        report(-1, "missing-op", "op " + llvm::Twine(problem.ops[op].id) + " never runs");
    for (int32_t step = 0; step < stepCount; ++step)
      cost += problem.ops[plan.steps[step]].cost;
    for (const Op &op : problem.ops)
      baseCost += op.cost;
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
        begin(-1, static_cast<ValueIndex>(value), -2); // held only if something asks for it
    for (int32_t step = 0; step < stepCount; ++step) {
      const Op &op = problem.ops[plan.steps[step]];
      for (ValueIndex value : op.reads)
        touch(step, value);
      for (ValueIndex value : op.writes)
        begin(step, value, step);
    }
    for (ValueIndex value :
         problem.keep) // held at the end, which is one position past the last step
      if (isValue(value) && current[value] >= 0)
        held[current[value]].last = stepCount;
  }

  void begin(int32_t step, ValueIndex value, int32_t last) {
    current[value] = static_cast<int32_t>(held.size());
    held.push_back({step, last, value, problem.values[value].bytes, std::nullopt, false});
  }

  void touch(int32_t step, ValueIndex value) {
    if (current[value] >= 0)
      held[current[value]].last = step;
    else if (!problem.values[value].resident)
      report(step, "read-before-write",
             "value " + llvm::Twine(problem.values[value].id) + " is read and not yet written");
  }

  /// Where `held` has (step, value); -1 if nowhere. `held` is sorted by step, and a step writes
  /// little.
  int32_t find(int32_t step, ValueIndex value) const {
    auto at = std::lower_bound(held.begin(), held.end(), step,
                               [](const Held &it, int32_t step) { return it.first < step; });
    for (; at != held.end() && at->first == step; ++at)
      if (at->value == value)
        return static_cast<int32_t>(at - held.begin());
    return -1;
  }

  /// Inputs by value, so that a step with a million inputs costs no million each.
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
    workspaces.assign(stepCount, Held{0, 0, -1, 0, std::nullopt, false});
    for (int32_t step = 0; step < stepCount; ++step)
      workspaces[step] = {step,         step, -1, problem.ops[plan.steps[step]].workspace,
                          std::nullopt, false};
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
      it.offset = 0; // so that it is not reported as missing too; its bytes are not checked
      it.bytes = 0;
      return;
    }
    if (offset % problem.alignment != 0)
      report(it.first, "misaligned",
             name(it) + " at offset " + llvm::Twine(offset) + ", which is no multiple of " +
                 llvm::Twine(problem.alignment));
    arena = std::max(arena, offset + it.bytes);
  }

  /// One entry of the occupied bytes: [key, end).
  struct Extent {
    int64_t end;
    Held *owner;
  };

  void sweep() {
    std::vector<std::vector<Held *>> leaving(stepCount + 2);
    for (Held &it : held)
      if (it.last >= std::max(it.first, 0))
        leaving[it.last].push_back(&it);
    size_t next = 0;
    for (; next < held.size() && held[next].first < 0; ++next)
      if (held[next].last >= 0)
        enter(held[next], 0);
    peak = live;
    for (int32_t step = 0; step < stepCount; ++step) {
      for (; next < held.size() && held[next].first == step; ++next)
        if (!takeOver(held[next], step))
          enter(held[next], step);
      if (workspaces[step].bytes > 0)
        enter(workspaces[step], step);
      peak = std::max(peak, live);
      shrinkTaken();
      for (Held *it : leaving[step])
        leave(*it);
      if (workspaces[step].bytes > 0)
        leave(workspaces[step]);
    }
  }

  /// Rule in_place: `it` may take the bytes of a value that this very step reads for the last time,
  /// at the same offset, if it is no larger. Until the step is over, all of the old value's bytes
  /// stay occupied.
  bool takeOver(Held &it, int32_t step) {
    if (!it.offset || it.bytes == 0)
      return false;
    auto at = occupied.find(*it.offset);
    if (at == occupied.end())
      return false;
    Held &old = *at->second.owner;
    if (old.value < 0 || old.last != step || old.first == step || old.bytes < it.bytes)
      return false;
    const Op &op = problem.ops[plan.steps[step]];
    if (llvm::none_of(op.inPlace, [&](const InPlace &pair) {
          return pair.write == it.value && pair.read == old.value;
        }))
      return false;
    old.yielded = true;
    at->second.owner = &it;
    taken.push_back({&it, old.bytes - it.bytes});
    return true;
  }

  void shrinkTaken() {
    for (auto [owner, freed] : taken) {
      occupied.find(*owner->offset)->second.end -= freed;
      live -= freed;
    }
    taken.clear();
  }

  void enter(Held &it, int32_t step) {
    live += it.bytes;
    if (!it.offset || it.bytes == 0)
      return;
    const int64_t end = *it.offset + it.bytes;
    auto above = occupied.lower_bound(*it.offset);
    const Held *other = nullptr;
    if (above != occupied.end() && above->first < end)
      other = above->second.owner;
    else if (above != occupied.begin() && std::prev(above)->second.end > *it.offset)
      other = std::prev(above)->second.owner;
    if (other)
      report(step, "overlap",
             name(it) + " at [" + llvm::Twine(*it.offset) + ", " + llvm::Twine(end) +
                 ") shares bytes with " + name(*other) + " at " + llvm::Twine(*other->offset) +
                 ", which is still held");
    else
      occupied.emplace(*it.offset, Extent{end, &it});
  }

  void leave(Held &it) {
    if (it.yielded)
      return;
    live -= it.bytes;
    auto at = it.offset ? occupied.find(*it.offset) : occupied.end();
    if (at != occupied.end() && at->second.owner == &it)
      occupied.erase(at);
  }

  void checkNumbers() {
    const Wide resident = residentBytes();
    expect("peak", plan.peak, peak + resident, "the largest sum of live bytes");
    expect("arena", plan.arena, arena, "the end of the highest offset");
    expect("cost", plan.cost, cost, "the costs of the steps");
    expect("base-cost", plan.baseCost, baseCost, "the cost of every op once");
    checkBoundsNotNegative();
    if (plan.costLowerBound > cost)
      report(-1, "bound", "the lower bound on the cost is above the cost of the plan");
    if (plan.peakLowerBound > peak + resident)
      report(-1, "bound", "the lower bound on the peak is above the peak of the plan");
    const bool fits = !problem.budget || resident + arena <= *problem.budget;
    if (plan.status == Status::Feasible && !fits)
      report(-1, "over-budget",
             "resident bytes and arena are " + text(resident + arena) + ", the budget is " +
                 llvm::Twine(*problem.budget));
    if (plan.status == Status::Infeasible && fits)
      report(-1, "status", "the plan fits and is called infeasible");
    if (plan.status == Status::Unknown && fits)
      report(-1, "status", "the plan fits and is called unknown");
  }

  Wide residentBytes() const {
    Wide bytes = 0;
    for (const Value &value : problem.values)
      bytes += value.resident ? value.bytes : 0;
    return bytes;
  }

  void expect(llvm::StringRef rule, int64_t stated, Wide found, llvm::StringRef what) {
    if (stated != found)
      report(-1, rule, "stated as " + llvm::Twine(stated) + ", but " + what + " is " + text(found));
  }

  const Problem &problem;
  const Plan &plan;
  const int32_t stepCount;
  std::vector<Violation> violations;
  std::vector<Held> held;
  std::vector<Held> workspaces; // by step
  std::vector<int32_t> current; // by value: its latest instance in `held`, -1: none
  std::map<int64_t, Extent> occupied;
  std::vector<std::pair<Held *, int64_t>> taken; // in this step: new owner, bytes it leaves over
  Wide live = 0, peak = 0, cost = 0, baseCost = 0;
  int64_t arena = 0;
};

} // namespace

std::vector<Violation> verify(const Problem &problem, const Plan &plan) {
  return Verifier(problem, plan).run();
}

} // namespace llmmem::planning
