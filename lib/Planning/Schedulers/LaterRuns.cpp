//===- LaterRuns.cpp - Run later what may run once alone ------------------------===//

#include "LaterRuns.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llmmem::planning;

/// Returns the first step after `step` that reads something that the op at `step` writes, or the
/// number of steps where there is none.
static size_t firstReader(const Graph &graph, llvm::ArrayRef<OpIndex> steps, size_t step) {
  const Op &op = graph.op(steps[step]);
  size_t reader = step + 1;
  while (reader < steps.size() &&
         llvm::none_of(
             graph.op(steps[reader]).reads,
             [&](ValueIndex v) { return llvm::is_contained(op.writes, v); }))
    ++reader;
  return reader;
}

/// Says whether the instance of `value` that is current before `step` is read at `step` or later.
static bool isReadFrom(const Graph &graph, llvm::ArrayRef<OpIndex> steps, size_t step,
                       ValueIndex value) {
  for (OpIndex op : steps.drop_front(step)) {
    if (llvm::is_contained(graph.op(op).reads, value))
      return true;
    if (op == graph.writer(value))
      return false;
  }
  return false;
}

std::vector<OpIndex> llmmem::planning::runLater(const Graph &graph, std::vector<OpIndex> steps) {
  constexpr size_t nearby = 4; // steps over which little else is held
  for (size_t step = steps.size(); step-- > 0;) {
    const Op &op = graph.op(steps[step]);
    if (op.recompute)
      continue;
    int64_t freed = 0;
    for (ValueIndex value : op.writes)
      freed += graph.bytes(value);
    if (freed == 0)
      continue;
    const size_t reader = firstReader(graph, steps, step);
    if (reader == steps.size() || reader - step <= nearby)
      continue;
    for (ValueIndex value : op.reads)
      if (!isReadFrom(graph, steps, reader, value))
        freed -= graph.bytes(value);
    if (freed > 0)
      std::rotate(steps.begin() + step, steps.begin() + step + 1, steps.begin() + reader);
  }
  return steps;
}
