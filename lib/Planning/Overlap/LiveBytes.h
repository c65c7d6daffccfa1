//===- LiveBytes.h - Bytes held while a schedule is reordered ----------------===//
//
// Runs of a schedule are taken out of its order one after another, each with a time at which it
// starts and ends; starts never decrease. An instance is held from the start of its writer to the
// end of its last reader. Sizes are rounded up to the alignment, resident bytes included.
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

  /// Whether the results of `run` may be there while the given order is still at `place`, before
  /// it: the bytes that the order holds up to `run`, and what was moved ahead before, leave room.
  bool fitsAhead(int32_t run, int32_t place) const;

  /// The first time from `start` on at which `run` fits beside what is held then; INT64_MAX where
  /// nothing that has started makes room.
  int64_t firstFit(int32_t run, int64_t start) const;

  /// Takes `run` while the given order is at `place`.
  void take(int32_t run, int64_t start, int64_t end, int32_t place);

private:
  struct Instance {
    int64_t bytes = 0;
    int32_t readersLeft = 0;
  };
  int64_t resultBytes(int32_t run) const;
  int64_t needOf(int32_t run) const;

  const Graph &graph;
  llvm::ArrayRef<OpIndex> steps;
  const int64_t capacity;
  std::vector<Instance> instances;
  std::vector<std::vector<int32_t>> reads, writes; // instances, by run, in the order of the op's
  MaxTree given;                                   // bytes at each step, with what is moved ahead
  int64_t held = 0;                                // bytes at the start of the last run
  std::map<int64_t, int64_t> freed;                // bytes, by the time at which they are freed
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OVERLAP_LIVEBYTES_H
