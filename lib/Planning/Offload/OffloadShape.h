//===- OffloadShape.h - What of a problem the device alone runs -----------------===//
//
// A problem with copies (HostCopies.h), taken apart: the device's own problem, of one memory and
// one resource, that the other solvers plan, and the copies beside it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// The two copies of one value, as ops of the whole problem.
struct HostCopy {
  ValueIndex value;
  ValueIndex host;
  OpIndex up, down;
};

struct OffloadShape {
  /// Values keep their positions; those of the host have no bytes, writers or readers, or are left
  /// out where no other stands behind them.
  Problem device;
  std::vector<OpIndex> opOf; // an op of `device` in the whole problem
  std::vector<HostCopy> copies;
  std::vector<int32_t> copyOf; // by value: its place in `copies`; -1: it stays
};

/// Whether there is another memory than the device, or a copy.
bool hasOffload(const Problem &problem);

/// Why a problem with copies cannot be planned; nothing where `takeApart` takes it.
std::optional<std::string> checkOffloadable(const Problem &problem);

OffloadShape takeApart(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H
