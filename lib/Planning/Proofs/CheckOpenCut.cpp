//===- CheckOpenCut.cpp - A flow where other ops choose their side -----------===//
//
// docs/Design/Proofs.md, "An open cut", has what each arc stands for and why the flow is a bound.
//
//===----------------------------------------------------------------------===//

#include "FlowSum.h"
#include <algorithm>

namespace llmmem::planning::proofs {
namespace {

class OpenCutCheck {
public:
  OpenCutCheck(const Facts &facts, const OpenCutFlow &cut)
      : facts(facts), cut(cut), numOps(facts.problem.ops.size()),
        flow(2 + 2 * numOps + facts.problem.values.size()), before(facts.ancestors(cut.op)),
        after(facts.descendants(cut.op)) {}

  /// Returns why the amounts are no flow, or an empty text where they are one.
  std::string run() {
    if (!enters() || !reads() || !holds() || !repeats() || !leaves())
      return why;
    if (std::optional<size_t> node = flow.findLeak())
      return "what flows into " + nameOf(*node) + " does not flow on";
    return "";
  }
  Wide total() const { return flow.total(); }

private:
  bool fail(const std::string &what) {
    why = what;
    return false;
  }
  size_t laterOf(OpIndex op) const { return 2 + op; }
  size_t againOf(OpIndex op) const { return 2 + numOps + op; }
  size_t nodeOf(ValueIndex value) const { return 2 + 2 * numOps + value; }
  bool isOther(OpIndex op) const { return facts.isOp(op) && op != cut.op; }
  bool counts(ValueIndex value) const {
    return facts.isValue(value) && !facts.problem.values[value].resident &&
           !facts.touches(cut.op, value);
  }
  bool doesRead(OpIndex op, ValueIndex value) const {
    const std::vector<ValueIndex> &reads = facts.problem.ops[op].reads;
    return std::find(reads.begin(), reads.end(), value) != reads.end();
  }

  bool enters() {
    for (auto [op, amount] : cut.descendants)
      if (!isOther(op) || !after[op] || !flow.move(FlowSum::source, laterOf(op), amount))
        return fail(facts.nameOfOp(op) + " need not run after the program point");
    for (auto [value, amount] : cut.kept)
      if (!counts(value) || !facts.kept[value] ||
          !flow.move(FlowSum::source, nodeOf(value), amount))
        return fail(facts.nameOfValue(value) + " need not be held at the end");
    return true;
  }

  bool reads() {
    for (auto [op, value, amount] : cut.reads)
      if (!isOther(op) || !counts(value) || !doesRead(op, value) ||
          !flow.move(againOf(op), nodeOf(value), amount))
        return fail(facts.nameOfOp(op) + " does not need " + facts.nameOfValue(value));
    return true;
  }

  bool holds() {
    std::vector<Wide> used(facts.problem.values.size(), 0);
    for (auto [value, amount] : cut.held) {
      if (!counts(value))
        return fail(facts.nameOfValue(value) + " takes no bytes that count");
      const OpIndex writer = facts.writer[value];
      if (!flow.move(nodeOf(value), writer < 0 ? FlowSum::sink : againOf(writer), amount,
                     used[value], Wide(cut.price) * facts.bytes(value)))
        return fail("more flows through " + facts.nameOfValue(value) + " than its bytes cost");
    }
    return true;
  }

  /// Checks repeats. An op that runs after the program point and first ran before it is paid. One
  /// that may not run again, or a schedule without repeats, has no such op.
  bool repeats() {
    std::vector<Wide> used(numOps, 0);
    for (auto [op, amount] : cut.repeated) {
      if (!isOther(op))
        return fail(facts.nameOfOp(op) + " is not paid there");
      const bool isFree = !cut.repeats || !facts.problem.ops[op].recompute;
      if (isFree ? !flow.move(againOf(op), laterOf(op), amount)
                 : !flow.move(againOf(op), laterOf(op), amount, used[op],
                              Wide(cut.scale) * facts.problem.ops[op].cost))
        return fail("more flows through " + facts.nameOfOp(op) + " than it costs");
    }
    for (auto [op, amount] : cut.first)
      if (!isOther(op) || !flow.move(laterOf(op), againOf(op), amount))
        return fail(facts.nameOfOp(op) + " has no other side");
    return true;
  }

  bool leaves() {
    for (auto [writer, reader, amount] : cut.order) {
      bool isRead = false;
      if (isOther(writer) && isOther(reader))
        for (ValueIndex value : facts.problem.ops[reader].reads)
          isRead |= facts.writer[value] == writer;
      if (!isRead || !flow.move(laterOf(writer), laterOf(reader), amount))
        return fail(facts.nameOfOp(reader) + " reads nothing of " + facts.nameOfOp(writer));
    }
    for (auto [op, amount] : cut.ancestors)
      if (!isOther(op) || !before[op] || !flow.move(laterOf(op), FlowSum::sink, amount))
        return fail(facts.nameOfOp(op) + " need not run before the program point");
    return true;
  }

  std::string nameOf(size_t node) const {
    return node < nodeOf(0) ? facts.nameOfOp(static_cast<OpIndex>((node - 2) % numOps))
                            : facts.nameOfValue(static_cast<ValueIndex>(node - nodeOf(0)));
  }

  const Facts &facts;
  const OpenCutFlow &cut;
  const size_t numOps;
  FlowSum flow;
  std::vector<bool> before, after; // per op
  std::string why;
};

} // namespace

Finding costByOpenCut(const Facts &facts, const OpenCutFlow &cut, Wide budget) {
  if (!facts.isOp(cut.op) || cut.price < 0 || cut.price > mostPrice || cut.scale < 0)
    return Finding::refused("the program point names no op, or a price is not in 0 to 2^60");
  OpenCutCheck check(facts, cut);
  if (std::string why = check.run(); !why.empty())
    return Finding::refused(std::move(why));
  const Wide rest = check.total() - cut.price * (budget - facts.footprintWithoutPaddingAt(cut.op));
  Finding finding;
  if (rest <= 0)
    return finding;
  if (cut.repeats) {
    finding.impossible = cut.scale == 0;
    finding.least = cut.scale == 0 ? 0 : (rest + cut.scale - 1) / cut.scale;
    return finding;
  }
  // No order without repeats fits, so some op runs again.
  finding.impossible = true;
  for (const Op &op : facts.problem.ops)
    if (op.recompute) {
      finding.least = finding.impossible ? op.cost : std::min<Wide>(finding.least, op.cost);
      finding.impossible = false;
    }
  return finding;
}

} // namespace llmmem::planning::proofs
