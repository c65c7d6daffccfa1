//===- LeastCut.h - The fewest bytes that separate an op from values ------------===//
//
// Nodes are values with bytes. The fewest bytes of values that meet all paths from the sources to
// the sinks are a maximum flow through them (Ford and Fulkerson 1956), found along shortest paths
// (Edmonds and Karp 1972). The graphs are those between two ops of neighbouring blocks, so that
// plain lists do.
//
// Example: a source of 8 bytes, read by an op that writes a sink of 3 bytes: 3 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_PROOFS_LEASTCUT_H
#define LLMMEM_LIB_PLANNING_PROOFS_LEASTCUT_H

#include "Facts.h"

namespace llmmem::planning::proofs {

class LeastCut {
public:
  LeastCut() : arcs(2) {}

  /// Adds a value, and returns its number.
  size_t add(Wide bytes) {
    arcs.resize(arcs.size() + 2);
    const size_t number = arcs.size() / 2 - 2;
    connect(entry(number), exit(number), bytes);
    return number;
  }
  void addSource(size_t number) { connect(source, entry(number), unlimited); }
  void addSink(size_t number) { connect(exit(number), sink, unlimited); }
  /// Says that the writer of `to` reads `from`.
  void addRead(size_t from, size_t to) { connect(exit(from), entry(to), unlimited); }

  Wide bytes() {
    Wide total = 0;
    while (const Wide more = augment())
      total += more;
    return total;
  }

private:
  struct Arc {
    size_t to, back; // `back` is the number of the reverse arc among those of `to`
    Wide left;
  };
  static constexpr size_t source = 0, sink = 1;
  static constexpr Wide unlimited = Wide(1) << 100; // more than all bytes of a problem
  static size_t entry(size_t number) { return 2 + 2 * number; }
  static size_t exit(size_t number) { return 3 + 2 * number; }

  void connect(size_t from, size_t to, Wide most) {
    arcs[from].push_back({to, arcs[to].size(), most});
    arcs[to].push_back({from, arcs[from].size() - 1, 0});
  }

  /// Sends what fits along one shortest path, and returns it.
  Wide augment() {
    struct Step {
      size_t from = SIZE_MAX, arc = 0;
    };
    std::vector<Step> reached(arcs.size());
    std::vector<size_t> open{source};
    for (size_t next = 0; next < open.size() && reached[sink].from == SIZE_MAX; ++next)
      for (size_t arc = 0; arc < arcs[open[next]].size(); ++arc)
        if (const Arc &it = arcs[open[next]][arc];
            it.left > 0 && it.to != source && reached[it.to].from == SIZE_MAX) {
          reached[it.to] = {open[next], arc};
          open.push_back(it.to);
        }
    if (reached[sink].from == SIZE_MAX)
      return 0;
    Wide fits = unlimited;
    for (size_t node = sink; node != source; node = reached[node].from)
      fits = std::min(fits, arcs[reached[node].from][reached[node].arc].left);
    for (size_t node = sink; node != source; node = reached[node].from) {
      Arc &it = arcs[reached[node].from][reached[node].arc];
      it.left -= fits;
      arcs[it.to][it.back].left += fits;
    }
    return fits;
  }

  std::vector<std::vector<Arc>> arcs; // by node: the source, the sink, and two per value
};

} // namespace llmmem::planning::proofs

#endif // LLMMEM_LIB_PLANNING_PROOFS_LEASTCUT_H
