//===- EvictedValues.h - Which values a schedule evicts to the host --------------===//
//
// A schedule of the device that holds too much is made to fit by evicting values to the host
// between two of their uses. This file lists all idle intervals of the values that may leave, and
// `choose` picks enough of them.
//
// Example: f writes a(4), g and h work in 6 bytes, b reads a. Under 8 bytes a is evicted between f
// and b.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_EVICTEDVALUES_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_EVICTEDVALUES_H

#include "OffloadShape.h"
#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

/// An idle interval of one instance of a value: two uses with other steps between them.
struct IdleInterval {
  int32_t copy;     // index in OffloadShape::copies
  int32_t instance; // number of the instance, whose idle intervals share one device-to-host copy
  int32_t written;  // the step that writes the instance
  int32_t leaves;   // the last use before the interval
  int32_t back;     // the first use after the interval; the number of steps where it is the end
  int64_t bytes;    // on the device, rounded to its alignment
  int64_t hostBytes;
  int64_t window; // cost of the ops between the two uses
};

/// Which idle interval is taken first among those that cover the fullest step.
enum class IdleIntervalOrder : uint8_t {
  LongestWindow, // the copies then have the most time
  MostBytes,     // this needs the fewest copies
  ShortestCopy,  // this keeps the link busy for the shortest time
};
inline constexpr IdleIntervalOrder allIdleIntervalOrders[] = {IdleIntervalOrder::LongestWindow,
                                                              IdleIntervalOrder::MostBytes,
                                                              IdleIntervalOrder::ShortestCopy};

/// The bytes of each memory that may be in use, resident ones included.
struct Capacities {
  int64_t device, host;
};

/// One schedule of the device, and the idle intervals in which its values may be evicted.
class EvictedValues {
public:
  EvictedValues(const OffloadShape &shape, const Problem &problem, const Graph &device,
                std::vector<OpIndex> steps);

  const std::vector<OpIndex> &steps() const { return order; }
  const std::vector<IdleInterval> &intervals() const { return all; }
  /// Returns the bytes held at each step where nothing is evicted.
  const std::vector<int64_t> &bytes() const { return held; }
  int64_t peak() const;
  int64_t cost() const { return starts.back(); }

  /// Returns idle intervals, as indices of `intervals()`, such that no step holds more than the
  /// capacity while their values are evicted; nothing where none are found. An interval whose
  /// `banned` is set is not taken, and one whose `wanted` is set is taken.
  std::optional<std::vector<int32_t>> choose(const Capacities &capacities, IdleIntervalOrder first,
                                             const std::vector<bool> &banned = {},
                                             const std::vector<bool> &wanted = {}) const;

  /// Returns whether these intervals suffice, and the host has room for the evicted values.
  bool fits(const std::vector<int32_t> &intervals, const Capacities &capacities) const;

  /// Returns when `step` starts, where compute never waits.
  int64_t startOf(int32_t step) const { return starts[step]; }

private:
  void addIdleIntervals(int32_t instance, int32_t copy, const std::vector<int32_t> &uses);
  int64_t rankOf(const IdleInterval &interval, IdleIntervalOrder first) const;
  void rankIdleIntervals();

  const OffloadShape &shape;
  const Problem &problem;
  const Graph &device;
  std::vector<OpIndex> order;
  std::vector<IdleInterval> all;
  std::vector<int32_t> ranked[std::size(allIdleIntervalOrders)]; // intervals in each order
  std::vector<int64_t> held, starts;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_EVICTEDVALUES_H
