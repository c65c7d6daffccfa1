//===- AbsentValues.h - Which values leave a schedule of the device --------------===//
//
// A schedule of the device that holds too much is made to fit by sending values away between two of
// their uses. `Gaps` are all the times at which that may be; `choose` picks as many as it takes.
//
// Example: f writes a(4), g and h work in 6 bytes, b reads a. Under 8 bytes a is absent between f
// and b.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_ABSENTVALUES_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_ABSENTVALUES_H

#include "OffloadShape.h"
#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

/// Between two uses of one instance of a value, with other steps between them.
struct Gap {
  int32_t copy;     // place in OffloadShape::copies
  int32_t instance; // number of the instance: gaps of the same one share its copy up
  int32_t written;  // the step that writes the instance
  int32_t leaves;   // the last use before it
  int32_t back;     // the first use after it; the number of steps where it is the end
  int64_t bytes;    // on the device, rounded to its alignment
  int64_t hostBytes;
  int64_t window; // compute between the two uses
};

/// What gap is taken first among those that cover the fullest step.
enum class GapChoice : uint8_t {
  LongestWindow, // the link then has the most time
  MostBytes,     // the fewest copies
  ShortestCopy,  // the least work of the link for what it frees
};
inline constexpr GapChoice allGapChoices[] = {GapChoice::LongestWindow, GapChoice::MostBytes,
                                              GapChoice::ShortestCopy};

/// Bytes that may be in use, resident ones included.
struct Capacities {
  int64_t device, host;
};

/// One schedule of the device, and when its values may be absent.
class AbsentValues {
public:
  AbsentValues(const OffloadShape &shape, const Problem &problem, const Graph &device,
               std::vector<OpIndex> steps);

  const std::vector<OpIndex> &steps() const { return order; }
  const std::vector<Gap> &gaps() const { return all; }
  /// Bytes held at each step with nothing absent.
  const std::vector<int64_t> &bytes() const { return held; }
  int64_t peak() const;
  int64_t cost() const { return starts.back(); }

  /// Gaps, as places in `gaps()`, without which no step holds more than the capacity; nothing where
  /// no choice was found. A gap whose `banned` is set is not taken, one whose `wanted` is set is.
  std::optional<std::vector<int32_t>> choose(const Capacities &capacities, GapChoice first,
                                             const std::vector<bool> &banned = {},
                                             const std::vector<bool> &wanted = {}) const;

  /// Whether these gaps suffice, and the host holds what is absent.
  bool fits(const std::vector<int32_t> &gaps, const Capacities &capacities) const;

  /// What compute has done when `step` starts, where it never waits.
  int64_t startOf(int32_t step) const { return starts[step]; }

private:
  void addGaps(int32_t instance, int32_t copy, const std::vector<int32_t> &uses);
  int64_t rankOf(const Gap &gap, GapChoice first) const;
  void rankGaps();

  const OffloadShape &shape;
  const Problem &problem;
  const Graph &device;
  std::vector<OpIndex> order;
  std::vector<Gap> all;
  std::vector<int32_t> ranked[std::size(allGapChoices)]; // gaps by each choice, the first one first
  std::vector<int64_t> held, starts;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_ABSENTVALUES_H
