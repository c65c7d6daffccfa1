//===- StageScan.cpp - The bytes of a few ops of a schedule --------------------------===//

#include "StageScan.h"
#include <algorithm>

using namespace llmmem::planning;

void StageScan::start(int64_t bytes, bool countsExtras) {
  ++number;
  live = bytes;
  this->countsExtras = countsExtras;
}

int64_t StageScan::visit(OpIndex op) {
  int64_t own = graph.writtenBytes(op);
  bool writesExtra = false;
  for (ValueIndex value : graph.writes(op)) {
    if (!isCounted(value)) {
      own -= graph.bytes(value);
      writesExtra = true;
    } else if (isLive(value)) {
      live -= graph.bytes(value);
    }
    mark(value, false);
  }
  // Bytes that an extra value takes in place are counted with it.
  if (graph.hasInPlace(op) && !writesExtra)
    own -= sharedBytes(graph, graph.op(op),
                       [this](ValueIndex value) { return isCounted(value) && !isLive(value); });
  for (ValueIndex value : graph.reads(op)) {
    if (isCounted(value) && !isLive(value))
      live += graph.bytes(value);
    mark(value, true);
  }
  return live + own;
}

int64_t StageScan::peakOf(llvm::ArrayRef<OpIndex> ops) {
  int64_t peak = live;
  for (OpIndex op : llvm::reverse(ops))
    peak = std::max(peak, visit(op));
  return peak;
}
