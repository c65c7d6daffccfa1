//===- Graph.cpp - Writers and readers of every value -----------------------===//

#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem::planning;

Graph::Graph(const Problem &problem, Cancellation *cancellation)
    : source(&problem), canceller(cancellation) {
  addVisits();
  size_t count = problem.values.size();
  writers.assign(count, -1);
  readerStart.assign(count + 1, 0);
  kept.assign(count, false);
  for (OpIndex index = 0; index < numOps(); ++index) {
    const Op &op = problem.ops[index];
    base += op.cost;
    for (ValueIndex value : op.writes)
      writers[value] = index;
    for (ValueIndex value : op.reads)
      ++readerStart[value + 1];
  }
  for (size_t value = 0; value < count; ++value)
    readerStart[value + 1] += readerStart[value];
  readerList.resize(readerStart[count]);
  std::vector<int32_t> next(readerStart.begin(), readerStart.end() - 1);
  for (OpIndex index = 0; index < numOps(); ++index)
    for (ValueIndex value : problem.ops[index].reads)
      readerList[next[value]++] = index;
  for (ValueIndex value : problem.keep)
    kept[value] = true;

  uint64_t alignment = problem.alignment > 0 ? problem.alignment : 1;
  arenaBytes.reserve(count);
  for (const Value &value : problem.values) {
    arenaBytes.push_back(value.resident ? 0 : llvm::alignTo(value.bytes, alignment));
    if (value.resident)
      resident += value.bytes;
  }
  workspaceBytes.reserve(problem.ops.size());
  for (const Op &op : problem.ops)
    workspaceBytes.push_back(llvm::alignTo(op.workspace, alignment));
  for (OpIndex op = 0; op < numOps(); ++op) {
    padding = std::max(padding, topPadding(op));
    visits[op].writtenBytes = workspace(op);
    for (ValueIndex value : writes(op))
      visits[op].writtenBytes += bytes(value);
  }
  for (ValueIndex value : problem.keep)
    padding = std::max(padding, paddingOf(value));
}

void Graph::addVisits() {
  visits.reserve(source->ops.size());
  for (const Op &op : source->ops) {
    Visit visit{
        static_cast<int32_t>(operands.size()), 0, 0, !op.inPlace.empty(), op.recompute, op.cost, 0};
    llvm::append_range(operands, op.reads);
    visit.writes = static_cast<int32_t>(operands.size());
    llvm::append_range(operands, op.writes);
    visit.end = static_cast<int32_t>(operands.size());
    visits.push_back(visit);
  }
}

int64_t Graph::paddingOf(ValueIndex value) const {
  return source->values[value].resident ? 0 : bytes(value) - source->values[value].bytes;
}

int64_t Graph::topPadding(OpIndex op) const {
  int64_t most = workspace(op) - source->ops[op].workspace;
  for (const std::vector<ValueIndex> *values : {&source->ops[op].reads, &source->ops[op].writes})
    for (ValueIndex value : *values)
      most = std::max(most, paddingOf(value));
  return most;
}

int64_t Graph::footprint(OpIndex index) const {
  const Op &op = source->ops[index];
  int64_t held = workspace(index);
  for (ValueIndex value : op.reads)
    held += bytes(value);
  for (ValueIndex value : op.writes) {
    // A result is in place if any pair allows it. Two results may count on the same operand, which
    // weakens the bound but keeps it valid. A kept operand may die here too, if it can be
    // recomputed.
    bool shares = llvm::any_of(op.inPlace, [&](const InPlace &pair) {
      OpIndex writer = writers[pair.read];
      bool mayDie = !kept[pair.read] || (writer >= 0 && source->ops[writer].recompute);
      return pair.write == value && mayDie && !source->values[pair.read].resident &&
             source->values[pair.write].bytes <= source->values[pair.read].bytes;
    });
    if (!shares)
      held += bytes(value);
  }
  return held;
}

void llmmem::planning::markAncestors(const Graph &graph, OpIndex op, std::vector<bool> &marked) {
  llvm::SmallVector<OpIndex, 64> worklist{op};
  while (!worklist.empty())
    for (ValueIndex value : graph.reads(worklist.pop_back_val()))
      if (OpIndex writer = graph.writer(value); writer >= 0 && !marked[writer]) {
        marked[writer] = true;
        worklist.push_back(writer);
      }
}

void llmmem::planning::markDescendants(const Graph &graph, OpIndex op, std::vector<bool> &marked) {
  llvm::SmallVector<OpIndex, 64> worklist{op};
  while (!worklist.empty())
    for (ValueIndex value : graph.writes(worklist.pop_back_val()))
      for (OpIndex reader : graph.readers(value))
        if (!marked[reader]) {
          marked[reader] = true;
          worklist.push_back(reader);
        }
}
