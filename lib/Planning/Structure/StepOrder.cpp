//===- StepOrder.cpp - An order of a training step, found from its graph ------------===//

#include "StepOrder.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
class Orderer {
public:
  Orderer(const Graph &graph, const Spine &spine, llvm::ArrayRef<uint64_t> colours,
          llvm::ArrayRef<int32_t> part);
  StepOrder run();

private:
  /// Says whether `op` runs as soon as the spine's part of its operands is there.
  bool isEager(OpIndex op) const;
  void visit(OpIndex last);
  void emit(OpIndex op);
  /// Says whether an op of the backward that waits for operands waits for what `op` writes. What
  /// could have run in either half runs when it is asked for.
  bool isAwaited(OpIndex op) const { return spine.isBackward(op) || op == spine.ops[spine.turn]; }
  /// Returns the operand's writer that runs next for `op`, or -1 where all have run.
  OpIndex nextOperand(OpIndex op) const;

  const Graph &graph;
  const Spine &spine;
  llvm::ArrayRef<uint64_t> colours;
  llvm::ArrayRef<int32_t> part;
  int32_t soon;
  std::vector<int32_t> rejoins; // per op: the position at which the spine needs its result, or one
                                // that depends on it
  std::vector<int32_t> depth;   // ops on the longest path to each
  std::vector<int32_t> missing; // operands that an eager op waits for
  std::vector<bool> servesBackward, isDone;
  std::vector<OpIndex> due; // eager ops that wait for nothing
  std::vector<OpIndex> order;
};
} // namespace

Orderer::Orderer(const Graph &graph, const Spine &spine, llvm::ArrayRef<uint64_t> colours,
                 llvm::ArrayRef<int32_t> part)
    : graph(graph), spine(spine), colours(colours), part(part),
      rejoins(graph.numOps(), Spine::never), depth(graph.numOps(), 0), missing(graph.numOps(), 0),
      servesBackward(graph.numOps(), false), isDone(graph.numOps(), false) {
  for (size_t index = 0; index < spine.ops.size(); ++index)
    rejoins[spine.ops[index]] = static_cast<int32_t>(index);
  for (OpIndex op = graph.numOps() - 1; op >= 0; --op)
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value)) {
        if (graph.bytes(value) == 0)
          continue; // a token of order holds nothing while it waits, and needs nothing
        servesBackward[op] =
            servesBackward[op] || spine.isBackward(reader) || servesBackward[reader];
        rejoins[op] = std::min(rejoins[op], rejoins[reader]);
      }
  constexpr int32_t fewOps = 24, parts = 16; // the ops of a block, or of a few blocks
  soon = std::max(fewOps, static_cast<int32_t>(spine.ops.size()) / parts);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0) {
        depth[op] = std::max(depth[op], depth[writer] + 1);
        missing[op] += !spine.isBackward(op) || isAwaited(writer);
      }
}

bool Orderer::isEager(OpIndex op) const {
  if (!spine.isBackward(op))
    return rejoins[op] == Spine::never && !servesBackward[op];
  if (rejoins[op] == Spine::never)
    return true;
  return part.empty() ? rejoins[op] - spine.earliest[op] > soon
                      : part[rejoins[op]] != part[spine.earliest[op]];
}

OpIndex Orderer::nextOperand(OpIndex op) const {
  OpIndex next = -1;
  for (ValueIndex value : graph.op(op).reads)
    if (OpIndex writer = graph.writer(value); writer >= 0 && !isDone[writer])
      if (next < 0 ||
          std::pair(depth[writer], colours[writer]) > std::pair(depth[next], colours[next]))
        next = writer;
  return next;
}

void Orderer::emit(OpIndex op) {
  isDone[op] = true;
  order.push_back(op);
  llvm::SmallVector<OpIndex, 8> now;
  for (ValueIndex value : graph.op(op).writes)
    for (OpIndex reader : graph.readers(value))
      if ((!spine.isBackward(reader) || isAwaited(op)) && --missing[reader] == 0 && isEager(reader))
        now.push_back(reader);
  llvm::sort(now, [&](OpIndex a, OpIndex b) { return colours[a] < colours[b]; });
  llvm::append_range(due, now);
}

void Orderer::visit(OpIndex last) {
  llvm::SmallVector<OpIndex, 64> stack{last};
  while (!stack.empty()) {
    const OpIndex op = stack.back(), next = nextOperand(op);
    if (next >= 0) {
      stack.push_back(next);
      continue;
    }
    stack.pop_back();
    if (!isDone[op])
      emit(op);
    // Eager ops run before what is on the stack, and their other operands are visited first.
    while (!due.empty()) {
      stack.push_back(due.back());
      due.pop_back();
    }
  }
}

StepOrder Orderer::run() {
  StepOrder result;
  for (OpIndex op : spine.ops) {
    graph.poll();
    visit(op);
  }
  std::vector<OpIndex> rest;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (!isDone[op])
      rest.push_back(op);
  llvm::stable_sort(rest, [&](OpIndex a, OpIndex b) {
    return std::pair(depth[a], colours[a]) < std::pair(depth[b], colours[b]);
  });
  for (OpIndex op : rest)
    if (!isDone[op])
      visit(op);
  result.cut = static_cast<int32_t>(llvm::find(order, spine.ops[spine.turn]) - order.begin()) + 1;
  result.ops = std::move(order);
  return result;
}

StepOrder llmmem::planning::findStepOrder(const Graph &graph, const Spine &spine,
                                          llvm::ArrayRef<uint64_t> colours,
                                          llvm::ArrayRef<int32_t> part) {
  return Orderer(graph, spine, colours, part).run();
}
