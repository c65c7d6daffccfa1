//===- CostOpInterface.h - What running an op costs ----------------------===//

#ifndef LLMMEM_INTERFACES_COSTOPINTERFACE_H
#define LLMMEM_INTERFACES_COSTOPINTERFACE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace llmmem {

/// Says what one launch of a kernel does.
struct KernelCost {
  int64_t flops = 0;
  int64_t bytesMoved = 0;
};

/// Says what one run sends over the link to other devices: messages that wait for one another, and
/// all their bytes. The time of it is messages * latency + bytes / bandwidth (the alpha-beta model;
/// ring algorithms as in Thakur et al. 2005).
struct TransferCost {
  int64_t messages = 0;
  int64_t bytes = 0;
  int64_t ranks = 1; // of the group
  int64_t whole = 0; // bytes of the value that they all share: of all parts together
  /// Counts the bytes that this device reads and writes before and after, while nothing is sent.
  int64_t copied = 0;
  /// Names the op whose measured times are those of what is sent; empty where it is the op itself.
  llvm::StringRef measuredAs = {};
  /// Counts transfers one after another; `messages` and `bytes` are of all, `whole` of the largest.
  int64_t times = 1;
  /// Says whether it is sent between the kernels of an op that computes: its time adds to theirs.
  bool betweenKernels = false;
};

/// Counts every operand and every result once. It is the default traffic of an op.
int64_t sumOfOperandAndResultBytes(mlir::Operation *op);

/// Returns the work and the traffic of `op`, which has CostOpInterface, as one kernel. These are
/// the default kernels of an op. They are asked through the interface, since an op with an external
/// model has no such methods itself.
KernelCost costAsOneKernel(mlir::Operation *op);

} // namespace llmmem

#include "llmmem/Interfaces/CostOpInterface.h.inc"

#endif // LLMMEM_INTERFACES_COSTOPINTERFACE_H
