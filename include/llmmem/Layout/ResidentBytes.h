//===- ResidentBytes.h - What a step holds from its start to its end ---------===//

#ifndef LLMMEM_LAYOUT_RESIDENTBYTES_H
#define LLMMEM_LAYOUT_RESIDENTBYTES_H

#include "llmmem/Support/Count.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace llmmem {

/// Counts bytes of one memory.
struct ResidentBytes {
  Count own;       // of the values
  Count allocated; // of their buffers, each a whole multiple of the alignment

  void add(Count bytes);
  /// Returns the bytes that the alignment adds, of sizes that can be counted (`checkSizes`).
  int64_t padding() const { return int64_t(allocated) - int64_t(own); }
};

/// Counts the bytes of the arguments and constants of a step. Example: arguments of 1000 and 512
/// bytes are 1512 of their own and 24 of padding.
struct StepResidents {
  explicit StepResidents(mlir::func::FuncOp step);

  ResidentBytes device, host;
  ResidentBytes server; // of the device's: those that only a parameter server has
  /// Holds the device's own bytes by role. A training step's roles are there also where no argument
  /// has them; arguments without a role are inputs, and constants have a role of their own.
  std::map<std::string, Count> byRole;
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_RESIDENTBYTES_H
