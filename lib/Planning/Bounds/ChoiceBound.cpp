//===- ChoiceBound.cpp - What other moments prove at most -------------------------===//

#include "ChoiceBound.h"
#include "PriceProgram.h"
#include <cmath>

using namespace llmmem::planning;

/// What a choice holds at the first run of an op.
class ChoiceBound::Walk {
public:
  Walk(const Graph &graph, OpIndex op)
      : graph(graph), op(op), before(graph.numOps(), false), hasValue(graph.numValues(), 0),
        hasOp(graph.numOps(), 0) {
    markAncestors(graph, op, before);
  }

  const std::vector<bool> &ancestors() const { return before; }

  /// `after`, per op: what first runs later. `runsAll`: whether the choice runs everything again
  /// behind `op`, and not only what is needed there.
  Held held(const std::vector<bool> &after, const std::vector<bool> &repeated, bool runsAll) {
    ++round;
    total = {};
    for (ValueIndex value = 0; value < graph.numValues(); ++value)
      if (graph.isKept(value) ||
          llvm::any_of(graph.readers(value), [&](OpIndex reader) { return after[reader]; }))
        need(value, repeated);
    if (runsAll)
      for (OpIndex each = 0; each < graph.numOps(); ++each)
        if (repeated[each])
          runAgain(each);
    while (!worklist.empty()) {
      const OpIndex each = worklist.pop_back_val();
      for (ValueIndex value : graph.reads(each))
        need(value, repeated);
    }
    return total;
  }

private:
  void runAgain(OpIndex each) {
    if (hasOp[each] == round)
      return;
    hasOp[each] = round;
    total.repeatCost += graph.cost(each);
    worklist.push_back(each);
  }

  void need(ValueIndex value, const std::vector<bool> &repeated) {
    const OpIndex writer = graph.writer(value);
    if (hasValue[value] == round || graph.bytes(value) == 0 || (writer >= 0 && !before[writer]) ||
        llvm::is_contained(graph.reads(op), value) || llvm::is_contained(graph.writes(op), value))
      return;
    hasValue[value] = round;
    if (writer >= 0 && repeated[writer])
      runAgain(writer);
    else
      total.bytes += graph.bytes(value);
  }

  const Graph &graph;
  const OpIndex op;
  std::vector<bool> before;
  std::vector<int32_t> hasValue, hasOp; // the round in which it was reached
  int32_t round = 0;
  llvm::SmallVector<OpIndex, 32> worklist;
  Held total;
};

ChoiceBound::ChoiceBound(const Graph &graph, OpIndex moment, std::vector<CutChoice> choices,
                         int64_t budget, int64_t known)
    : graph(graph), moment(moment), choices(std::move(choices)), budget(budget), known(known) {}

/// Rounded up, as what is proved is.
static int64_t heightOf(PriceProgram &program) {
  constexpr double roundingErrors = 1 + 1e-9;
  const std::optional<PriceProgram::Point> point = program.highest();
  return point ? static_cast<int64_t>(std::ceil(point->height * roundingErrors)) : INT64_MAX;
}

/// Where `other` comes first, the choice runs all of its repeats behind it as well.
int64_t ChoiceBound::mostTogether(OpIndex other) const {
  std::vector<bool> after(graph.numOps(), false), afterMoment(graph.numOps(), false);
  markDescendants(graph, other, after);
  markDescendants(graph, moment, afterMoment);
  const bool isFirst = after[moment];
  Walk walk(graph, other);
  PriceProgram program(2, double(known));
  for (const CutChoice &choice : choices) {
    const Held held = walk.held(after, choice.recomputed, /*runsAll=*/isFirst);
    program.add(double(choice.recomputeCost), {double(choice.bytes) - double(capacityAt(moment)),
                                               double(held.bytes) - double(capacityAt(other))});
  }
  return heightOf(program);
}

int64_t ChoiceBound::mostAt(OpIndex op) const {
  Walk walk(graph, op);
  std::vector<bool> after = walk.ancestors();
  after.flip();
  after[op] = false;
  PriceProgram program(1, double(known));
  for (const CutChoice &choice : choices) {
    const Held held = walk.held(after, choice.recomputed, /*runsAll=*/false);
    program.add(double(held.repeatCost), {double(held.bytes) - double(capacityAt(op))});
  }
  return heightOf(program);
}
