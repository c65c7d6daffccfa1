//===- OffloadShape.h - The part of a problem that the device runs --------------===//
//
// This file splits a problem with copies (OffloadProblem.h) into the device's own problem, of one
// memory and one resource, which the other solvers plan, and the copies.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// Describes the two copies of one value, as ops of the whole problem.
struct CopyPair {
  ValueIndex value;
  ValueIndex host;
  OpIndex up, down;
};

struct OffloadShape {
  /// The device's own problem. Values keep their positions. Those of the host have no bytes,
  /// writers or readers, and are left out at the end.
  Problem device;
  std::vector<OpIndex> opOf; // by op of `device`: its index in the whole problem
  std::vector<CopyPair> copies;
  std::vector<int32_t> copyOf; // by value: its index in `copies`; -1: it never leaves
};

/// Returns whether the problem has a memory other than the device's, or a copy.
bool hasOffload(const Problem &problem);

/// Returns why a problem with copies cannot be planned, and nothing where `takeApart` accepts it.
std::optional<std::string> checkOffloadable(const Problem &problem);

/// Splits a problem that checkOffloadable accepts.
OffloadShape takeApart(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSHAPE_H
