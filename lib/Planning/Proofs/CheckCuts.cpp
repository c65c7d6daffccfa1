//===- CheckCuts.cpp - Flows at the first runs of certain ops ----------------===//
//
// docs/Design/Proofs.md, "Cuts in time", has what each arc stands for and why the flow is a bound.
//
//===----------------------------------------------------------------------===//

#include "FlowSum.h"
#include <algorithm>

namespace llmmem::planning::proofs {
namespace {

/// Together with `mostPrice`, this keeps all sums of prices x bytes within 128 bits.
constexpr size_t mostProgramPoints = 4;

class CutCheck {
public:
  CutCheck(const Facts &facts, const CutFlow &cut)
      : facts(facts), cut(cut), numValues(facts.problem.values.size()),
        numOps(facts.problem.ops.size()),
        flow(2 + cut.programPoints.size() * (numValues + numOps)) {}

  /// Returns why the amounts are no flow at these program points, or an empty text where they are
  /// one.
  std::string run() {
    if (!programPointsHold())
      return why;
    for (level = 0; level < cut.programPoints.size(); ++level)
      if (!enters(programPoint().needed) || !holds() || !repeats() || !reads() || !goesBack())
        return why + " at the program point of " + facts.nameOfOp(programPoint().op);
    if (std::optional<size_t> node = flow.findLeak())
      return leak(*node);
    return "";
  }
  Wide total() const { return flow.total(); }

private:
  bool fail(const std::string &what) {
    why = what;
    return false;
  }
  const ProgramPointFlow &programPoint() const { return cut.programPoints[level]; }
  size_t nodeOf(size_t level, ValueIndex value) const {
    return 2 + level * (numValues + numOps) + value;
  }
  size_t nodeOfOp(size_t level, OpIndex op) const { return nodeOf(level, 0) + numValues + op; }

  bool programPointsHold() {
    if (cut.scale < 0 || cut.programPoints.empty() || cut.programPoints.size() > mostProgramPoints)
      return fail("expected 1 to 4 program points");
    for (size_t index = 0; index < cut.programPoints.size(); ++index) {
      const OpIndex op = cut.programPoints[index].op;
      if (!facts.isOp(op))
        return fail("a program point names no op");
      if (cut.programPoints[index].price < 0 || cut.programPoints[index].price > mostPrice)
        return fail("a price is not in 0 to 2^60");
      before.push_back(facts.ancestors(op));
      after.push_back(facts.descendants(op));
      if (index > 0 && !before[index][cut.programPoints[index - 1].op])
        return fail(facts.nameOfOp(cut.programPoints[index - 1].op) + " is no ancestor of " +
                    facts.nameOfOp(op) + ", so it need not first run before it");
    }
    if (cut.later >= 0) {
      const std::vector<bool> descendants = facts.descendants(cut.later);
      for (size_t op = 0; op < numOps; ++op)
        if (descendants[op] || static_cast<OpIndex>(op) == cut.later)
          after[0][op] = true;
    }
    return true;
  }

  /// Says whether holding `value` at the program point takes bytes in addition to the op's own: it
  /// is not resident, was written before, and is no operand or result of the op.
  bool counts(size_t at, ValueIndex value) const {
    return facts.isValue(value) && !facts.problem.values[value].resident &&
           (facts.writer[value] < 0 || before[at][facts.writer[value]]) &&
           !facts.touches(cut.programPoints[at].op, value);
  }
  bool mayRepeat(size_t at, OpIndex op) const {
    return facts.isOp(op) && before[at][op] && facts.problem.ops[op].recompute;
  }

  bool enters(const std::vector<ValueFlow> &needed) {
    for (auto [value, amount] : needed) {
      bool isLive = counts(level, value) && facts.kept[value];
      if (counts(level, value))
        for (OpIndex reader : facts.readers[value])
          isLive |= after[level][reader];
      if (!isLive)
        return fail(facts.nameOfValue(value) + " is not needed for sure");
      if (!flow.move(FlowSum::source, nodeOf(level, value), amount))
        return fail("a negative amount");
    }
    return true;
  }

  bool holds() {
    std::vector<Wide> used(numValues, 0);
    for (auto [value, amount] : programPoint().held) {
      if (!counts(level, value))
        return fail(facts.nameOfValue(value) + " takes no bytes that count");
      const OpIndex writer = facts.writer[value];
      const size_t to = mayRepeat(level, writer) ? nodeOfOp(level, writer) : FlowSum::sink;
      if (!flow.move(nodeOf(level, value), to, amount, used[value],
                     Wide(programPoint().price) * facts.bytes(value)))
        return fail("more flows through " + facts.nameOfValue(value) + " than its bytes cost");
    }
    return true;
  }

  /// Checks repeats. An op that first ran between two program points is paid at the later one.
  bool repeats() {
    std::vector<Wide> used(numOps, 0);
    for (auto [op, amount] : programPoint().repeated) {
      if (!mayRepeat(level, op) || (level > 0 && before[level - 1][op]))
        return fail(facts.nameOfOp(op) + " is not paid there");
      if (!flow.move(nodeOfOp(level, op), FlowSum::sink, amount, used[op],
                     Wide(cut.scale) * facts.problem.ops[op].cost))
        return fail("more flows through " + facts.nameOfOp(op) + " than it costs");
    }
    return true;
  }

  bool reads() {
    for (auto [op, value, amount] : programPoint().reads) {
      if (!mayRepeat(level, op) || !counts(level, value))
        return fail(facts.nameOfOp(op) + " does not need " + facts.nameOfValue(value));
      bool isRead = false;
      for (ValueIndex operand : facts.problem.ops[op].reads)
        isRead |= operand == value;
      if (!isRead)
        return fail(facts.nameOfOp(op) + " does not read " + facts.nameOfValue(value));
      if (!flow.move(nodeOfOp(level, op), nodeOf(level, value), amount))
        return fail("a negative amount");
    }
    return true;
  }

  /// Checks the arcs back. What is needed or runs again after a program point does so after the one
  /// before, where it is there.
  bool goesBack() {
    for (auto [value, amount] : programPoint().valuesBefore)
      if (level == 0 || !counts(level, value) || !counts(level - 1, value) ||
          !flow.move(nodeOf(level, value), nodeOf(level - 1, value), amount))
        return fail(facts.nameOfValue(value) + " does not belong to the program point before");
    for (auto [op, amount] : programPoint().opsBefore)
      if (level == 0 || !mayRepeat(level - 1, op) ||
          !flow.move(nodeOfOp(level, op), nodeOfOp(level - 1, op), amount))
        return fail(facts.nameOfOp(op) + " does not belong to the program point before");
    return true;
  }

  std::string leak(size_t node) const {
    const size_t stride = numValues + numOps, index = (node - 2) % stride;
    return "what flows into " +
           (index < numValues ? facts.nameOfValue(static_cast<ValueIndex>(index))
                              : facts.nameOfOp(static_cast<OpIndex>(index - numValues))) +
           " does not flow on at the program point of " +
           facts.nameOfOp(cut.programPoints[(node - 2) / stride].op);
  }

  const Facts &facts;
  const CutFlow &cut;
  const size_t numValues, numOps;
  FlowSum flow;
  size_t level = 0;
  std::vector<std::vector<bool>> before, after; // per program point, per op
  std::string why;
};

/// Proves scale x cost >= what flows - the sum of price x what fits next to each program point's
/// own bytes.
Finding costByCut(const Facts &facts, const CutFlow &cut, Wide budget) {
  CutCheck check(facts, cut);
  if (std::string why = check.run(); !why.empty())
    return Finding::refused(std::move(why));
  Wide rest = check.total();
  for (const ProgramPointFlow &programPoint : cut.programPoints)
    rest -= programPoint.price * (budget - facts.footprintWithoutPaddingAt(programPoint.op));
  Finding finding;
  if (rest > 0 && cut.scale == 0)
    finding.impossible = true; // bytes that every schedule holds there exceed what fits
  else if (rest > 0)
    finding.least = (rest + cut.scale - 1) / cut.scale;
  return finding;
}

} // namespace

/// Says why two cuts do not hold together. They do where each has the other's program point later:
/// one of the two orders happens.
static std::string findWrongOrders(const Facts &facts, const std::vector<CutFlow> &cuts) {
  for (const CutFlow &cut : cuts)
    if (cut.programPoints.empty())
      return "a cut has no program point ('moments')";
  if (cuts.size() == 1)
    return cuts[0].later < 0 ? "" : "the other order of the two ops is missing";
  if (cuts.size() != 2)
    return "expected one cut, or two for the two orders of two ops";
  const CutFlow &a = cuts[0], &b = cuts[1];
  if (a.programPoints.size() != 1 || b.programPoints.size() != 1 || !facts.isOp(a.later) ||
      !facts.isOp(b.later) || a.later != b.programPoints[0].op ||
      b.later != a.programPoints[0].op || a.later == b.later)
    return "the two cuts are not the two orders of two ops";
  return "";
}

Finding costByCuts(const Facts &facts, const Argument &argument, Wide budget) {
  if (std::string why = findWrongOrders(facts, argument.cuts); !why.empty())
    return Finding::refused(std::move(why));
  Finding all;
  all.impossible = true;
  for (const CutFlow &cut : argument.cuts) {
    // An order that contradicts the reads never happens.
    if (cut.later >= 0 && facts.isOp(cut.programPoints[0].op) &&
        facts.ancestors(cut.programPoints[0].op)[cut.later])
      continue;
    Finding one = costByCut(facts, cut, budget);
    if (one.verdict != Verdict::Checked)
      return one;
    if (one.impossible)
      continue;
    all.least = all.impossible ? one.least : std::min(all.least, one.least);
    all.impossible = false;
  }
  return all;
}

/// Proves a footprint. With repeats free and a price of one, what flows is bytes that every
/// schedule holds there.
Finding footprintByCuts(const Facts &facts, const Argument &argument) {
  if (argument.cuts.size() != 1)
    return Finding::refused("expected one cut");
  const CutFlow &cut = argument.cuts[0];
  if (cut.scale != 0 || cut.later >= 0 || cut.programPoints.size() != 1 ||
      cut.programPoints[0].price != 1)
    return Finding::refused("expected one program point, a scale of 0 and a price of 1");
  CutCheck check(facts, cut);
  if (std::string why = check.run(); !why.empty())
    return Finding::refused(std::move(why));
  Finding finding;
  finding.least = facts.footprintWithoutPaddingAt(cut.programPoints[0].op) + check.total();
  return finding;
}

} // namespace llmmem::planning::proofs
