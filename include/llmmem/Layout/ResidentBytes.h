//===- ResidentBytes.h - What a step holds from its start to its end ---------===//

#ifndef LLMMEM_LAYOUT_RESIDENTBYTES_H
#define LLMMEM_LAYOUT_RESIDENTBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Counts bytes of one memory.
struct ResidentBytes {
  int64_t own = 0;     // of the values
  int64_t padding = 0; // that buffers of whole multiples of the alignment add

  void add(int64_t bytes);
  int64_t allocated() const { return own + padding; }
};

/// Counts the bytes of the arguments and constants of a step, whose sizes can be counted
/// (`checkSizes`). Example: arguments of 1000 and 512 bytes are 1512 of their own and 24 of
/// padding.
struct StepResidents {
  explicit StepResidents(mlir::func::FuncOp step);

  ResidentBytes device, host;
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_RESIDENTBYTES_H
