//===- Colours.cpp - Equal ops have equal colours ------------------------------===//

#include "Colours.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

/// Mixes by splitmix64 (Steele, Lea, Flood 2014) over a sum. llvm::hash_combine may differ from one
/// run of a program to the next, and a plan must not.
static uint64_t mix(uint64_t seed, uint64_t more) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + more + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Returns the colour of what a value says about itself.
static uint64_t colourOf(const Graph &graph, ValueIndex value) {
  const uint64_t kind = (graph.problem().values[value].resident ? 1 : 0) +
                        (graph.writer(value) < 0 ? 2 : 0) + (graph.isKept(value) ? 4 : 0);
  return mix(kind, static_cast<uint64_t>(graph.problem().values[value].bytes));
}

static uint64_t colourOf(const Graph &graph, const Op &op) {
  uint64_t colour = mix(static_cast<uint64_t>(op.cost), static_cast<uint64_t>(op.workspace));
  colour = mix(colour, (op.recompute ? 1 : 0) + 2 * op.inPlace.size());
  uint64_t reads = 0,
           writes = 0; // these are sums, as the order in which operands are named says nothing
  for (ValueIndex value : op.reads)
    reads += colourOf(graph, value);
  for (ValueIndex value : op.writes)
    writes += mix(colourOf(graph, value), graph.readers(value).size());
  return mix(mix(colour, reads), writes);
}

/// Returns 0 where an op may not write its results into the bytes of a value that it reads. Of two
/// alike operands of a sum, one alone may give its bytes.
static uint64_t bytesTaken(const Op &op, ValueIndex read) {
  return llvm::count_if(op.inPlace, [&](const InPlace &pair) { return pair.read == read; });
}

std::vector<uint64_t> llmmem::planning::findColours(const Graph &graph, int rounds) {
  std::vector<uint64_t> colours(graph.numOps()), values(graph.numValues()), next(graph.numOps());
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    colours[op] = colourOf(graph, graph.op(op));
  for (int round = 0; round < rounds; ++round) {
    graph.poll();
    for (ValueIndex value = 0; value < graph.numValues(); ++value) {
      uint64_t readers = 0;
      for (OpIndex reader : graph.readers(value))
        readers += mix(1 + bytesTaken(graph.op(reader), value), colours[reader]);
      values[value] = mix(readers, graph.writer(value) < 0 ? 0 : colours[graph.writer(value)]);
    }
    for (OpIndex op = 0; op < graph.numOps(); ++op) {
      uint64_t reads = 0, writes = 0;
      for (ValueIndex value : graph.op(op).reads)
        reads += mix(2 + bytesTaken(graph.op(op), value), values[value]);
      for (ValueIndex value : graph.op(op).writes)
        writes += mix(1, values[value]);
      next[op] = mix(mix(colours[op], reads), writes);
    }
    colours.swap(next);
  }
  return colours;
}
