//===- StateOnHost.h - Optimizer state that lives on the host ---------------===//
//
// Between steps the state of the optimizer lies in the host's memory (Ren et al. 2021,
// ZeRO-Offload; Rajbhandari et al. 2021, ZeRO-Infinity); each value of it comes to the device for
// its update and leaves again. The device then holds the state of the updates at hand alone, and
// what the host holds throughout counts against `--host-budget`.
//
// Example: a parameter of 768 x 768 in bf16 has 7,077,888 bytes of f32 moments and master copy.
// They are no longer resident, and the arena holds them while the parameter is updated.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_STATEONHOST_H
#define LLMMEM_TRANSFORMS_STATEONHOST_H

#include "llmmem/Planning/Offload/HostCopies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Moves each argument of role `optimizer_state` that is no scalar to the host, with a copy down
/// before the update in front of its first reader, and a copy up into the argument behind its new
/// value. Returns how many there are. `step` is not planned.
llvm::FailureOr<int64_t> moveStateToHost(mlir::func::FuncOp step, const planning::HostLink &link);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STATEONHOST_H
