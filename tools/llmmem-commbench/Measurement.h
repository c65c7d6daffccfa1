//===- Measurement.h - What a collective takes on this machine --*- C++ -*-===//

#ifndef LLMMEM_TOOLS_COMMBENCH_MEASUREMENT_H
#define LLMMEM_TOOLS_COMMBENCH_MEASUREMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

struct llmmem_cuda;

namespace llmmem {

/// One row of a device table's `collectives`.
struct CollectiveTime {
  llvm::StringRef op;
  int64_t ranks = 0; // of a group
  int64_t bytes = 0; // of the whole value
  int64_t ns = 0;    // the median over repetitions of the slowest rank's time
};

struct MeasurementRange {
  int64_t smallest = 1024,
          largest = 0; // bytes of the whole value; each size doubles the one before
  int repetitions = 7;
  /// The GPU whose collectives are measured by events, or null to measure the host's. Afterwards
  /// its first failure is llmmem_cuda_message's.
  llmmem_cuda *device = nullptr;
};

/// Returns the sizes of mesh axes by which `ranks` have groups of as many sizes as possible: the
/// prime factors, so that the last k axes are a group. 12 gives 2, 2, 3.
std::vector<int64_t> axesOf(int64_t ranks);

/// Times every collective over the groups of the last 1, 2, ... axes, all groups of a size at once,
/// as they run in a step. Calls `report` with each row, on every rank. All ranks call it.
void measureCollectives(llvm::ArrayRef<int64_t> axes, const MeasurementRange &range,
                        llvm::function_ref<void(const CollectiveTime &)> report);

} // namespace llmmem

#endif // LLMMEM_TOOLS_COMMBENCH_MEASUREMENT_H
