//===- LiveBytes.cpp - Bytes held while a schedule is reordered --------------===//

#include "LiveBytes.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

LiveBytes::LiveBytes(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int64_t capacity)
    : graph(graph), steps(steps), capacity(capacity), reads(steps.size()), writes(steps.size()),
      given(profile(graph, steps).bytes), held(graph.residentBytes()) {
  std::vector<int32_t> current(graph.numValues(), -1);
  auto begin = [&](ValueIndex value) {
    current[value] = static_cast<int32_t>(instances.size());
    instances.push_back({graph.bytes(value), 0});
  };
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0) {
      begin(value);
      held += graph.readers(value).empty() && !graph.isKept(value) ? 0 : graph.bytes(value);
    }
  for (size_t run = 0; run < steps.size(); ++run) {
    for (ValueIndex value : graph.op(steps[run]).reads) {
      reads[run].push_back(current[value]);
      ++instances[current[value]].readersLeft;
    }
    for (ValueIndex value : graph.op(steps[run]).writes) {
      begin(value);
      writes[run].push_back(current[value]);
    }
  }
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.isKept(value) && current[value] >= 0)
      ++instances[current[value]].readersLeft; // never read
}

int64_t LiveBytes::resultBytes(int32_t run) const {
  int64_t bytes = 0;
  for (int32_t instance : writes[run])
    bytes += instances[instance].bytes;
  return bytes;
}

bool LiveBytes::fitsAhead(int32_t run, int32_t place) const {
  return run <= place ||
         given.max(place, run - 1) <= capacity - std::min(capacity, resultBytes(run));
}

/// Returns what a run adds to the bytes held. Results that take the bytes of an operand that dies
/// add nothing.
int64_t LiveBytes::footprintOf(int32_t run) const {
  const Op &op = graph.op(steps[run]);
  const int64_t shared = sharedBytes(graph, op, [&](ValueIndex value) {
    const size_t at = llvm::find(op.reads, value) - op.reads.begin();
    return instances[reads[run][at]].readersLeft == 1;
  });
  return resultBytes(run) + graph.workspace(steps[run]) - shared;
}

int64_t LiveBytes::firstFit(int32_t run, int64_t start) const {
  int64_t left = held;
  const int64_t most = capacity - std::min(capacity, footprintOf(run));
  auto next = freed.begin();
  for (; next != freed.end() && next->first <= start; ++next)
    left -= next->second;
  for (; left > most && next != freed.end(); ++next) {
    left -= next->second;
    start = next->first;
  }
  return left <= most ? start : INT64_MAX;
}

void LiveBytes::take(int32_t run, int64_t start, int64_t end, int32_t place) {
  while (!freed.empty() && freed.begin()->first <= start) {
    held -= freed.begin()->second;
    freed.erase(freed.begin());
  }
  given.add(place, run - 1, resultBytes(run));
  const int64_t footprint = footprintOf(run);
  held += footprint;
  // A result that has taken an operand's bytes is one of two owners, and one of them ends here.
  const int64_t shared = resultBytes(run) + graph.workspace(steps[run]) - footprint;
  int64_t ends = graph.workspace(steps[run]) - shared;
  for (int32_t instance : reads[run])
    if (--instances[instance].readersLeft == 0)
      ends += instances[instance].bytes;
  for (int32_t instance : writes[run])
    if (instances[instance].readersLeft == 0)
      ends += instances[instance].bytes;
  if (ends != 0)
    freed[end] += ends;
}
