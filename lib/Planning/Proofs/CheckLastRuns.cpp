//===- CheckLastRuns.cpp - Flows at the last run of a set of ops -------------===//
//
// docs/Design/Proofs.md, "The last runs of a set", has what each arc stands for and why the flow is
// a bound.
//
//===----------------------------------------------------------------------===//

#include "FlowSum.h"
#include <algorithm>

namespace llmmem::planning::proofs {
namespace {

class LastRunCheck {
public:
  LastRunCheck(const Facts &facts, const std::vector<bool> &inSet, const LastRunFlow &argument)
      : facts(facts), inSet(inSet), argument(argument), flow(2 + numValues() + inSet.size()),
        used(numValues(), 0), beforeAll(inSet.size(), true) {}

  /// Returns why the amounts are no flow, or an empty text where they are one.
  std::string run() {
    for (OpIndex op : argument.ops) {
      if (!facts.isOp(op) || !inSet[op])
        return "a flow is of an op outside of the set";
      const std::vector<bool> before = facts.ancestors(op);
      for (size_t other = 0; other < before.size(); ++other)
        beforeAll[other] = beforeAll[other] && before[other];
    }
    if (!enters() || !holds() || !reads())
      return why;
    if (std::optional<size_t> node = flow.findLeak())
      return "what flows into " + nameOf(*node) + " does not flow on";
    return "";
  }

  /// Returns the footprint where `op` is the last of the set. Its own values are in its footprint,
  /// and count once.
  Wide footprintAt(OpIndex op) const {
    Wide own = 0;
    for (ValueIndex value = 0; value < static_cast<ValueIndex>(used.size()); ++value)
      if (facts.touches(op, value))
        own += used[value];
    return facts.footprintWithoutPaddingAt(op) + flow.total() - own;
  }

private:
  bool fail(const std::string &what) {
    why = what;
    return false;
  }
  size_t numValues() const { return facts.problem.values.size(); }
  size_t nodeOf(ValueIndex value) const { return 2 + value; }
  size_t againOf(OpIndex op) const { return 2 + numValues() + op; }
  bool counts(ValueIndex value) const {
    return facts.isValue(value) && !facts.problem.values[value].resident;
  }
  /// Says whether `op` may run after the program point. An op that runs once runs before it where
  /// it comes before each op that may be the last.
  bool mayRunAfter(OpIndex op) const {
    return !inSet[op] && (facts.problem.ops[op].recompute || !beforeAll[op]);
  }

  bool enters() {
    for (auto [value, amount] : argument.kept)
      if (!counts(value) || !facts.kept[value] ||
          !flow.move(FlowSum::source, nodeOf(value), amount))
        return fail(facts.nameOfValue(value) + " need not be held at the end");
    return true;
  }

  bool holds() {
    for (auto [value, amount] : argument.held) {
      if (!counts(value))
        return fail(facts.nameOfValue(value) + " takes no bytes that count");
      const OpIndex writer = facts.writer[value];
      const bool isMade = writer >= 0 && mayRunAfter(writer);
      if (!flow.move(nodeOf(value), isMade ? againOf(writer) : FlowSum::sink, amount, used[value],
                     facts.bytes(value)))
        return fail("more flows through " + facts.nameOfValue(value) + " than it has bytes");
    }
    return true;
  }

  bool reads() {
    for (auto [op, value, amount] : argument.reads) {
      const bool isRun = facts.isOp(op) && counts(value) && mayRunAfter(op);
      const auto *operands = isRun ? &facts.problem.ops[op].reads : nullptr;
      if (!isRun || std::find(operands->begin(), operands->end(), value) == operands->end() ||
          !flow.move(againOf(op), nodeOf(value), amount))
        return fail(facts.nameOfOp(op) + " does not need " + facts.nameOfValue(value) +
                    " after the program point");
    }
    return true;
  }

  std::string nameOf(size_t node) const {
    return node < againOf(0) ? facts.nameOfValue(static_cast<ValueIndex>(node - nodeOf(0)))
                             : facts.nameOfOp(static_cast<OpIndex>(node - againOf(0)));
  }

  const Facts &facts;
  const std::vector<bool> &inSet;
  const LastRunFlow &argument;
  FlowSum flow;
  std::vector<Wide> used;      // per value: the amount that flows through it
  std::vector<bool> beforeAll; // per op: whether it runs before each of `argument.ops`
  std::string why;
};

/// Says whether `op` runs once, and another one of the set after it.
bool isNeverLast(const Facts &facts, const std::vector<bool> &inSet, OpIndex op) {
  if (facts.problem.ops[op].recompute)
    return false;
  const std::vector<bool> after = facts.descendants(op);
  for (size_t other = 0; other < after.size(); ++other)
    if (inSet[other] && after[other] && static_cast<OpIndex>(other) != op)
      return true;
  return false;
}

} // namespace

Finding footprintByLastRuns(const Facts &facts, const LastRunArgument &argument) {
  std::vector<bool> inSet(facts.problem.ops.size(), false), isProved = inSet;
  for (OpIndex op : argument.set) {
    if (!facts.isOp(op))
      return Finding::refused("the set names no op");
    inSet[op] = true;
  }
  std::optional<Wide> least;
  for (const LastRunFlow &flow : argument.flows) {
    LastRunCheck check(facts, inSet, flow);
    if (std::string why = check.run(); !why.empty())
      return Finding::refused(std::move(why));
    for (OpIndex op : flow.ops) {
      isProved[op] = true;
      const Wide footprint = check.footprintAt(op);
      least = std::min(least.value_or(footprint), footprint);
    }
  }
  for (OpIndex op : argument.set)
    if (!isProved[op] && !isNeverLast(facts, inSet, op))
      return Finding::refused("no flow is of " + facts.nameOfOp(op) +
                              ", which may be the last of the set");
  if (!least)
    return Finding::refused("the set is empty, or none of it may be the last");
  return {Verdict::Checked, "", *least};
}

} // namespace llmmem::planning::proofs
