//===- ChoiceBound.cpp - What other program points prove at most ------------------===//

#include "ChoiceBound.h"
#include "PriceProgram.h"
#include <cmath>

using namespace llmmem::planning;

/// Finds what a choice holds at the first run of an op.
class ChoiceBound::Walk {
public:
  Walk(const Graph &graph, OpIndex op)
      : graph(graph), op(op), before(graph.numOps(), false), hasValue(graph.numValues(), 0),
        hasOp(graph.numOps(), 0) {
    markAncestors(graph, op, before);
  }

  const std::vector<bool> &ancestors() const { return before; }

  /// This comes before `held`: `after` says, per op, whether it first runs later.
  void setLater(const std::vector<bool> &after) {
    needed.clear();
    for (ValueIndex value : graph.problem().keep)
      addNeeded(value);
    for (OpIndex each = 0; each < graph.numOps(); ++each)
      if (after[each])
        for (ValueIndex value : graph.reads(each))
          addNeeded(value);
  }

  /// `runsAll` says whether the choice runs everything again after `op`, and not only what is
  /// needed there.
  Held held(const std::vector<bool> &repeated, bool runsAll) {
    ++round;
    total = {};
    for (ValueIndex value : needed)
      require(value, repeated);
    if (runsAll)
      for (OpIndex each = 0; each < graph.numOps(); ++each)
        if (repeated[each])
          runAgain(each);
    while (!worklist.empty()) {
      const OpIndex each = worklist.pop_back_val();
      for (ValueIndex value : graph.reads(each))
        if (counts(value))
          require(value, repeated);
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

  bool counts(ValueIndex value) const {
    const OpIndex writer = graph.writer(value);
    return graph.bytes(value) > 0 && (writer < 0 || before[writer]) &&
           !llvm::is_contained(graph.reads(op), value) &&
           !llvm::is_contained(graph.writes(op), value);
  }

  void addNeeded(ValueIndex value) {
    if (counts(value))
      needed.push_back(value);
  }

  void require(ValueIndex value, const std::vector<bool> &repeated) {
    if (hasValue[value] == round)
      return;
    hasValue[value] = round;
    const OpIndex writer = graph.writer(value);
    if (writer >= 0 && repeated[writer])
      runAgain(writer);
    else
      total.bytes += graph.bytes(value);
  }

  const Graph &graph;
  const OpIndex op;
  std::vector<bool> before;
  std::vector<ValueIndex> needed;       // some of them several times
  std::vector<int32_t> hasValue, hasOp; // the round in which it was reached
  int32_t round = 0;
  llvm::SmallVector<OpIndex, 32> worklist;
  Held total;
};

/// The two choices between which the best price of `programPoint` lies prove the most.
ChoiceBound::ChoiceBound(const Graph &graph, OpIndex programPoint, llvm::ArrayRef<CutChoice> all,
                         int64_t budget, int64_t known)
    : graph(graph), programPoint(programPoint), budget(budget), known(known) {
  const CutChoice *more = nullptr, *less = nullptr;
  for (const CutChoice &choice : all) {
    const bool fits = choice.bytes <= capacityAt(programPoint);
    const CutChoice *&best = fits ? less : more;
    if (!best || (fits ? choice.bytes > best->bytes : choice.bytes < best->bytes))
      best = &choice;
  }
  for (const CutChoice *choice : {more, less})
    if (choice)
      choices.push_back(*choice);
}

/// Returns the height rounded up, as what is proved is.
static int64_t heightOf(PriceProgram &program) {
  constexpr double roundingErrors = 1 + 1e-9;
  const std::optional<PriceProgram::Point> point = program.highest();
  return point ? static_cast<int64_t>(std::ceil(point->height * roundingErrors)) : INT64_MAX;
}

/// Where `other` comes first, the choice runs all of its repeats after it as well.
int64_t ChoiceBound::mostTogether(OpIndex other) const {
  std::vector<bool> after(graph.numOps(), false), afterProgramPoint(graph.numOps(), false);
  markDescendants(graph, other, after);
  markDescendants(graph, programPoint, afterProgramPoint);
  const bool isFirst = after[programPoint];
  Walk walk(graph, other);
  walk.setLater(after);
  PriceProgram program(2, double(known));
  for (const CutChoice &choice : choices) {
    const Held held = walk.held(choice.recomputed, /*runsAll=*/isFirst);
    program.add(double(choice.recomputeCost),
                {double(choice.bytes) - double(capacityAt(programPoint)),
                 double(held.bytes) - double(capacityAt(other))});
  }
  return heightOf(program);
}

int64_t ChoiceBound::mostAt(OpIndex op, OpIndex later) const {
  Walk walk(graph, op);
  std::vector<bool> after(graph.numOps(), false);
  if (later < 0) {
    after = walk.ancestors();
    after.flip();
    after[op] = false;
  } else {
    after[later] = true;
    markDescendants(graph, op, after);
    markDescendants(graph, later, after);
  }
  walk.setLater(after);
  PriceProgram program(1, double(known));
  for (const CutChoice &choice : choices) {
    const Held held = walk.held(choice.recomputed, /*runsAll=*/false);
    program.add(double(held.repeatCost), {double(held.bytes) - double(capacityAt(op))});
  }
  return heightOf(program);
}
