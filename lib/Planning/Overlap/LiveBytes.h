//===- LiveBytes.h - Bytes held while a schedule is reordered ----------------===//
//
// The runs of a schedule are taken out of its order one after another, each with a time at which it
// starts and ends; starts never decrease. An instance is held from the start of its writer to the
// end of its last reader. Sizes are rounded up to the alignment, and resident bytes are included.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OVERLAP_LIVEBYTES_H
#define LLMMEM_LIB_PLANNING_OVERLAP_LIVEBYTES_H

#include "Schedulers/Editor.h"
#include "llmmem/Planning/Model/Graph.h"
#include <map>

namespace llmmem::planning {

class LiveBytes {
public:
  LiveBytes(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int64_t capacity);

  /// Says whether the results of `run` may be live while the given order is still at `place`,
  /// before it. That is so where the bytes that the order holds up to `run`, and what was moved
  /// ahead before, leave room.
  bool fitsAhead(int32_t run, int32_t place) const;

  /// Returns the first time from `start` on at which `run` fits next to what is held then, or
  /// INT64_MAX where nothing that has started makes room.
  int64_t firstFit(int32_t run, int64_t start) const;

  /// Takes `run` while the given order is at `place`.
  void take(int32_t run, int64_t start, int64_t end, int32_t place);

private:
  struct LiveInstance {
    int64_t bytes = 0;
    int32_t readersLeft = 0;
  };
  int64_t resultBytes(int32_t run) const;
  int64_t footprintOf(int32_t run) const;

  const Graph &graph;
  llvm::ArrayRef<OpIndex> steps;
  const int64_t capacity;
  std::vector<LiveInstance> instances;
  std::vector<std::vector<int32_t>> reads,
      writes;       // instances, by run, in the order of the op's operands and results
  MaxTree given;    // bytes at each step, including what is moved ahead
  int64_t held = 0; // bytes at the start of the last run
  std::map<int64_t, int64_t> freed; // bytes that are freed, by time
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OVERLAP_LIVEBYTES_H
