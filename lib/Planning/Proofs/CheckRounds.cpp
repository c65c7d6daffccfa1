//===- CheckRounds.cpp - What runs again between the first runs of certain ops ---===//
//
// docs/Design/Proofs.md, "Rounds", has the argument. Here are its premises: which steps of a chain
// each round needs, how many bytes hold one for a later round, and what fits at each program point.
// RoundProgram.h adds up what runs again.
//
//===----------------------------------------------------------------------===//

#include "LeastCut.h"
#include "RoundProgram.h"
#include <algorithm>
#include <map>

namespace llmmem::planning::proofs {
namespace {

/// The work of all chains: the sums that are compared.
constexpr int64_t mostWork = 600000000;
/// The sums that one chain keeps, of 8 bytes each.
constexpr double mostKept = 1 << 26;
constexpr size_t mostChains = 64, mostPoints = 2000;

/// The first run of an op, and the round that it begins.
struct ProgramPoint {
  OpIndex op;
  std::vector<bool> touched;      // per value: an operand or result
  std::vector<ValueIndex> needed; // read in the round for sure, and not touched
  Wide room;                      // bytes that fit in addition to the op's own
};

class ProgramPoints {
public:
  ProgramPoints(const Facts &facts, const std::vector<OpIndex> &ops, Wide budget)
      : facts(facts), budget(budget) {
    why = add(ops);
  }
  std::string why; // why they are none, or empty
  size_t size() const { return points.size(); }
  const ProgramPoint &operator[](size_t number) const { return points[number]; }

private:
  std::string add(const std::vector<OpIndex> &ops) {
    if (ops.empty() || ops.size() > mostPoints)
      return "expected 1 to 2000 program points ('points')";
    std::vector<bool> before;
    for (size_t number = ops.size(); number-- > 0;) {
      if (!facts.isOp(ops[number]))
        return "a program point names no op";
      if (!before.empty() && !before[ops[number]])
        return facts.nameOfOp(ops[number]) + " is no ancestor of " +
               facts.nameOfOp(ops[number + 1]) + ", so it need not first run before it";
      points.insert(
          points.begin(),
          pointAt(ops[number], before, number + 1 < ops.size() ? ops[number + 1] : OpIndex(-1)));
      before = facts.ancestors(ops[number]);
    }
    return "";
  }

  /// `before` are the ancestors of `next`, which begins the next round; it is -1 for the last one.
  ProgramPoint pointAt(OpIndex op, const std::vector<bool> &before, OpIndex next) const {
    const size_t numValues = facts.problem.values.size();
    ProgramPoint point{
        op, std::vector<bool>(numValues, false), {}, budget - facts.footprintWithoutPaddingAt(op)};
    for (ValueIndex value : facts.problem.ops[op].reads)
      point.touched[value] = true;
    for (ValueIndex value : facts.problem.ops[op].writes)
      point.touched[value] = true;
    std::vector<bool> seen = point.touched;
    auto need = [&](ValueIndex value) {
      if (!seen[value])
        point.needed.push_back(value);
      seen[value] = true;
    };
    const std::vector<bool> after = facts.descendants(op);
    for (size_t other = op + 1; other < after.size(); ++other)
      if (after[other] && (next < 0 || before[other] || static_cast<OpIndex>(other) == next))
        for (ValueIndex value : facts.problem.ops[other].reads)
          need(value);
    if (next < 0)
      for (ValueIndex value : facts.problem.keep)
        need(value);
    return point;
  }

  const Facts &facts;
  const Wide budget;
  std::vector<ProgramPoint> points;
};

/// The least costs that were found. Where all costs are some times those of another chain with the
/// same rounds, so is the least.
class SolvedRounds {
public:
  /// Returns nothing where the program would compare or keep more than `work` sums, or where a sum
  /// may not fit in 64 bits.
  std::optional<int64_t> leastCost(const std::vector<int64_t> &costs,
                                   const std::vector<Round> &rounds, int64_t work) {
    for (const Solved &other : solved)
      if (other.rounds == rounds && isProportional(costs, other.costs))
        return static_cast<int64_t>(Wide(other.least) * costs[0] / other.costs[0]);
    Wide total = 0;
    for (int64_t cost : costs)
      total += cost;
    // Each round costs its steps, and the steps after its target once more, at most.
    if (2 * total * Wide(rounds.size()) >= RoundProgram::impossible)
      return std::nullopt;
    RoundProgram program(costs, rounds);
    if (program.work() > double(work) || program.numKept() > mostKept)
      return std::nullopt;
    const int64_t least = program.leastCost();
    if (least < RoundProgram::impossible && costs[0] > 0)
      solved.push_back({costs, rounds, least});
    return least < RoundProgram::impossible ? least : 0;
  }

private:
  struct Solved {
    std::vector<int64_t> costs;
    std::vector<Round> rounds;
    int64_t least;
  };
  static bool isProportional(const std::vector<int64_t> &costs,
                             const std::vector<int64_t> &others) {
    bool isSo = costs.size() == others.size();
    for (size_t step = 0; isSo && step < costs.size(); ++step)
      isSo = Wide(costs[step]) * others[0] == Wide(others[step]) * costs[0];
    return isSo;
  }

  std::vector<Solved> solved;
};

/// One chain of steps, numbered from 1, and what its rounds need.
class ChainCheck {
public:
  ChainCheck(const Facts &facts, const ProgramPoints &points, const RoundChain &chain)
      : facts(facts), points(points), chain(chain), depth(facts.problem.values.size(), 0) {}

  /// Returns why the ops are no chain before the program points, or an empty text where they are.
  std::string findFault() {
    if (chain.ops.size() < 2)
      return "expected two ops or more in a chain";
    for (const OpFlow &step : chain.ops) {
      if (!facts.isOp(step.op) || !facts.problem.ops[step.op].recompute)
        return "a chain has " + facts.nameOfOp(step.op) + ", which runs once";
      if (step.amount < 0)
        return "a negative amount";
    }
    return findDepths();
  }

  /// Returns the least cost of the steps that run again, or nothing where it is too much work.
  std::optional<int64_t> leastCost(SolvedRounds &known, int64_t work) {
    for (size_t number = 0; number < points.size(); ++number)
      findTargets(number);
    findUnit();
    if (unit <= 0)
      return 0;
    for (size_t number = 0; number < points.size(); ++number)
      addRounds(number);
    std::vector<int64_t> costs;
    costs.reserve(chain.ops.size());
    for (const OpFlow &step : chain.ops)
      costs.push_back(step.amount);
    return known.leastCost(costs, rounds, work);
  }

private:
  /// A step that a round needs, and the fewest bytes that hold it when the round begins.
  struct Target {
    int32_t step;
    Wide bytes;
    std::vector<ValueIndex> values; // those needed that come from it and no later step
  };
  int32_t numSteps() const { return static_cast<int32_t>(chain.ops.size()); }
  OpIndex opOf(int32_t step) const { return chain.ops[step - 1].op; }

  /// The depth of a value is the last step that comes before it, 0 for none.
  std::string findDepths() {
    int32_t found = 0;
    for (OpIndex op = 0; facts.isOp(op); ++op) {
      int32_t most = 0;
      for (ValueIndex value : facts.problem.ops[op].reads)
        most = std::max(most, depth[value]);
      if (found < numSteps() && op == opOf(found + 1)) {
        if (most != found)
          return facts.nameOfOp(opOf(found)) + " is no ancestor of " + facts.nameOfOp(op);
        most = ++found;
      }
      if (op == points[0].op && most < numSteps())
        return "the last op of a chain is no ancestor of the first program point";
      for (ValueIndex value : facts.problem.ops[op].writes)
        depth[value] = most;
    }
    return found < numSteps() ? "the ops of a chain are not in the order of the problem" : "";
  }

  /// Returns the fewest bytes of values without those in `touched` that meet each path from a step
  /// to `values`. All values on these paths have its depth.
  Wide bytesBetween(int32_t step, const std::vector<ValueIndex> &values,
                    const std::vector<bool> &touched) const {
    LeastCut cut;
    std::map<ValueIndex, size_t> numbers;
    std::vector<ValueIndex> open;
    auto numberOf = [&](ValueIndex value) {
      auto [it, isNew] = numbers.try_emplace(value, 0);
      if (isNew) {
        it->second = cut.add(facts.bytes(value));
        open.push_back(value);
      }
      return it->second;
    };
    for (ValueIndex value : values)
      if (!touched[value])
        cut.addSink(numberOf(value));
    for (size_t next = 0; next < open.size(); ++next) {
      const ValueIndex value = open[next];
      const OpIndex writer = facts.writer[value];
      if (writer == opOf(step)) {
        cut.addSource(numbers[value]);
        continue;
      }
      for (ValueIndex operand : facts.problem.ops[writer].reads)
        if (depth[operand] == step && !touched[operand]) {
          const size_t from = numberOf(operand); // before `numbers` is read again
          cut.addRead(from, numbers[value]);
        }
    }
    return cut.bytes();
  }

  /// Finds which steps a round needs, the last first.
  void findTargets(size_t number) {
    std::map<int32_t, std::vector<ValueIndex>, std::greater<>> byStep;
    for (ValueIndex value : points[number].needed)
      if (depth[value] > 0)
        byStep[depth[value]].push_back(value);
    std::vector<Target> &found = targets.emplace_back();
    beside.push_back(0);
    for (auto &[step, values] : byStep) {
      const Wide bytes = bytesBetween(step, values, points[number].touched);
      if (number > 0 && step == numSteps())
        beside.back() = bytes;
      else if (bytes > 0)
        found.push_back({step, bytes, std::move(values)});
    }
  }

  /// Calls `visit` with each step but the last that a program point's op touches values of.
  template <typename Visit>
  void forEachTouched(size_t number, Visit visit) const {
    const Op &op = facts.problem.ops[points[number].op];
    std::vector<int32_t> steps;
    for (const std::vector<ValueIndex> *values : {&op.reads, &op.writes})
      for (ValueIndex value : *values)
        steps.push_back(depth[value]);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    for (int32_t step : steps)
      if (step > 0 && step < numSteps())
        visit(step);
  }

  std::vector<ValueIndex> operandsAfter(int32_t step) const {
    std::vector<ValueIndex> values;
    for (ValueIndex operand : facts.problem.ops[opOf(step + 1)].reads)
      if (depth[operand] == step)
        values.push_back(operand);
    return values;
  }

  /// The fewest bytes that hold any step for the one after it, at any program point that needs a
  /// later one.
  void findUnit() {
    const std::vector<bool> none(depth.size(), false);
    unit = bytesBetween(1, operandsAfter(1), none);
    for (int32_t step = 2; step < numSteps(); ++step)
      unit = std::min(unit, bytesBetween(step, operandsAfter(step), none));
    for (size_t number = 0; number < points.size(); ++number)
      forEachTouched(number, [&](int32_t step) {
        if (!targets[number].empty() && step < targets[number].front().step)
          unit = std::min(unit, bytesBetween(step, operandsAfter(step), points[number].touched));
      });
  }

  /// Returns the units that hold a target from any program point before its own on.
  int64_t weightOf(size_t number, const Target &target) const {
    Wide least = target.bytes;
    for (size_t earlier = 0; earlier < number; ++earlier)
      forEachTouched(earlier, [&](int32_t step) {
        if (step == target.step)
          least = std::min(least, bytesBetween(step, target.values, points[earlier].touched));
      });
    return unitsIn(least, unit);
  }

  /// Returns the highest step from `lowest` on that less than a unit holds, as the op of the
  /// program point touches what holds it; 0 where there is none.
  int32_t givenAt(size_t number, int32_t lowest) const {
    int32_t given = 0;
    forEachTouched(number, [&](int32_t step) {
      if (step >= lowest && bytesBetween(step, operandsAfter(step), points[number].touched) < unit)
        given = std::max(given, step);
    });
    return given;
  }

  /// A program with as many units as the largest number is too much work, so none is cut short.
  static int64_t unitsIn(Wide bytes, Wide unit) {
    return bytes < 0 ? -1 : static_cast<int64_t>(std::min<Wide>(bytes / unit, INT32_MAX));
  }

  /// Adds a round for each step that is needed after a program point: bytes are bounded at the
  /// point alone, and what runs for the one may be held for the next. A target that would not
  /// descend is left out, and a point without any.
  void addRounds(size_t number) {
    const Wide room = points[number].room;
    bool isFirst = true;
    for (const Target &target : targets[number]) {
      const int64_t weight = weightOf(number, target);
      if (weight < 1)
        continue;
      if (isFirst)
        while (!rounds.empty() && rounds.back().fits == Round::unlimited &&
               rounds.back().target <= target.step)
          rounds.pop_back();
      if (!rounds.empty() && rounds.back().target <= target.step)
        continue;
      Round round{target.step, weight};
      if (isFirst) {
        round.fits = unitsIn(room - beside[number], unit);
        round.fitsAlone = unitsIn(room, unit);
        round.given = givenAt(number, target.step);
      }
      isFirst = false;
      rounds.push_back(round);
    }
  }

  const Facts &facts;
  const ProgramPoints &points;
  const RoundChain &chain;
  std::vector<int32_t> depth;               // per value
  std::vector<std::vector<Target>> targets; // per program point
  std::vector<Wide> beside;                 // per program point: bytes that come from the last step
  std::vector<Round> rounds;
  Wide unit = 0;
};

/// Says which op is charged more than it costs, if any.
std::string findOvercharge(const Facts &facts, const RoundArgument &argument) {
  std::map<OpIndex, Wide> charged;
  for (const RoundChain &chain : argument.chains)
    for (const OpFlow &step : chain.ops)
      charged[step.op] += step.amount;
  for (auto [op, amount] : charged)
    if (amount > facts.problem.ops[op].cost)
      return facts.nameOfOp(op) + " is charged " + text(amount) + ", more than it costs";
  return "";
}

} // namespace

Finding costByRounds(const Facts &facts, const RoundArgument &argument, Wide budget) {
  const ProgramPoints points(facts, argument.programPoints, budget);
  if (!points.why.empty())
    return Finding::refused(points.why);
  if (argument.chains.size() > mostChains)
    return Finding::refused("expected at most 64 chains");
  std::vector<ChainCheck> chains;
  for (const RoundChain &chain : argument.chains)
    if (std::string why = chains.emplace_back(facts, points, chain).findFault(); !why.empty())
      return Finding::refused(std::move(why));
  if (std::string why = findOvercharge(facts, argument); !why.empty())
    return Finding::refused(std::move(why));
  Finding finding;
  SolvedRounds known;
  for (ChainCheck &chain : chains) {
    const std::optional<int64_t> least =
        chain.leastCost(known, mostWork / static_cast<int64_t>(chains.size()));
    if (!least)
      return Finding::notChecked("the rounds of a chain are too many to follow");
    finding.least += *least;
  }
  return finding;
}

} // namespace llmmem::planning::proofs

std::optional<int64_t> llmmem::planning::costOfRounds(const Problem &problem,
                                                      const RoundArgument &argument,
                                                      int64_t budget) {
  const proofs::Facts facts(problem, proofs::Sizes::Rounded);
  const proofs::Finding found = proofs::costByRounds(facts, argument, budget);
  if (found.verdict != Verdict::Checked || facts.baseCost + found.least > INT64_MAX)
    return std::nullopt;
  return static_cast<int64_t>(found.least);
}
