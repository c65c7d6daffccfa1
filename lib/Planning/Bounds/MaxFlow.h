//===- MaxFlow.h - Minimum cut on a sparse graph ------------------------------===//
//
// Dinic's algorithm on integer capacities. Capacities may be changed between runs: where the last
// flow still fits, as where none has shrunk, `solve` goes on from it, else it starts from zero. The
// value and the cut nearest to the source are the same either way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H
#define LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmmem::planning {

class MaxFlow {
public:
  static constexpr int64_t infinite = INT64_MAX / 4;

  explicit MaxFlow(int32_t numNodes) : firstArc(numNodes, -1) {}

  void reserve(std::size_t numArcs) {
    arcs.reserve(2 * numArcs);
    capacities.reserve(2 * numArcs);
  }
  /// Returns the arc's number, for `setCapacity`.
  int32_t addArc(int32_t from, int32_t to, int64_t capacity) {
    fits = false;
    const int32_t index = static_cast<int32_t>(arcs.size());
    arcs.push_back({to, firstArc[from], 0});
    arcs.push_back({from, firstArc[to], 0});
    capacities.push_back(capacity);
    capacities.push_back(0);
    firstArc[from] = index;
    firstArc[to] = index + 1;
    return index;
  }
  void setCapacity(int32_t arc, int64_t capacity) {
    if (fits) {
      arcs[arc].residual += capacity - capacities[arc];
      fits = arcs[arc].residual >= 0;
    }
    capacities[arc] = capacity;
  }

  /// The value of the minimum cut between `source` and `sink`, at most `infinite`.
  int64_t solve(int32_t source, int32_t sink);
  /// After `solve`: is `node` on the source's side of the minimum cut nearest to the source?
  bool onSourceSide(int32_t node) const { return level[node] >= 0; }
  /// After `solve`: what flows through the arc.
  int64_t flowThrough(int32_t arc) const { return arcs[arc ^ 1].residual; }

private:
  struct Arc {
    int32_t to;
    int32_t next;
    int64_t residual; // here, as a search reads it beside `to`
  };
  bool findLevels(int32_t source, int32_t sink);
  int64_t augment(int32_t source, int32_t sink);

  std::vector<Arc> arcs; // arc i and its reverse i ^ 1
  std::vector<int64_t> capacities;
  bool fits = false; // the flow of the residuals, of value `flow`, is within the capacities
  int64_t flow = 0;
  std::vector<int32_t> firstArc, level, currentArc, queue, path;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H
