//===- MaxFlow.h - Minimum cut on a sparse graph ------------------------------===//
//
// Solves by Dinic's algorithm on integer capacities. Capacities may be changed between runs:
// `solve` goes on from the last flow. It first takes back what exceeds a capacity that has shrunk,
// from the source to the sink. The value and the cut nearest to the source are the same as from
// zero.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H
#define LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace llmmem::planning {

class MaxFlow {
public:
  static constexpr int64_t infinite = INT64_MAX / 4;

  explicit MaxFlow(int32_t numNodes)
      : firstArc(numNodes, -1), level(numNodes, -1), currentArc(numNodes) {}

  void reserve(std::size_t numArcs) {
    arcs.reserve(2 * numArcs);
    capacities.reserve(2 * numArcs);
  }
  /// Returns the arc's number, for `setCapacity`.
  int32_t addArc(int32_t from, int32_t to, int64_t capacity) {
    const int32_t index = static_cast<int32_t>(arcs.size());
    arcs.push_back({to, firstArc[from], capacity});
    arcs.push_back({from, firstArc[to], 0});
    capacities.push_back(capacity);
    capacities.push_back(0);
    firstArc[from] = index;
    firstArc[to] = index + 1;
    return index;
  }
  void setCapacity(int32_t arc, int64_t capacity) {
    if (capacity == capacities[arc])
      return;
    const bool wasExceeded = arcs[arc].residual < 0;
    arcs[arc].residual += capacity - capacities[arc];
    if (arcs[arc].residual < 0 && !wasExceeded)
      exceeded.push_back(arc);
    capacities[arc] = capacity;
  }

  /// Returns the value of the minimum cut between `source` and `sink`, at most `infinite`. It may
  /// end as soon as `enough` flows; then no cut is known, and none is below what is returned.
  int64_t solve(int32_t source, int32_t sink, int64_t enough = infinite);
  /// Says, after `solve` has found a cut, whether `node` is on the source's side of the one nearest
  /// to the source.
  bool onSourceSide(int32_t node) const { return level[node] >= 0; }
  /// Returns, after `solve`, what flows through the arc.
  int64_t flowThrough(int32_t arc) const { return arcs[arc ^ 1].residual; }

private:
  struct Arc {
    int32_t to;
    int32_t next;
    int64_t residual; // kept here, as a search reads it with `to`
  };
  bool findLevels(int32_t source, int32_t sink);
  void restart();
  void takeBack(int32_t arc, int32_t source, int32_t sink);
  void takeBack(int32_t from, int32_t end, int64_t amount, bool isUpstream);
  int64_t augment(int32_t source, int32_t sink);

  std::vector<Arc> arcs; // arc i and its reverse i ^ 1
  std::vector<int64_t> capacities;
  bool hasFlow = true;           // whether the residuals are those of a flow, of value `flow`
  std::vector<int32_t> exceeded; // arcs that may carry more than their capacity
  std::vector<std::pair<int32_t, int64_t>> toTakeBack; // amounts at nodes
  int64_t flow = 0;
  std::vector<int32_t> firstArc;
  std::vector<int32_t> level;      // level of the last search; -1 where it did not come
  std::vector<int32_t> currentArc; // valid where there is a level
  std::vector<int32_t> queue;      // nodes with a level
  std::vector<int32_t> path;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_MAXFLOW_H
