//===- StateOnHost.h - State and parameters that live on the host -----------===//
//
// Between steps the state of the optimizer lies in the host's memory (Ren et al. 2021,
// ZeRO-Offload; Rajbhandari et al. 2021, ZeRO-Infinity). Each value of it comes to the device for
// its update and leaves again. The device then holds the state of the updates at hand alone, and
// what the host holds throughout counts against `--host-budget`.
//
// Example: a parameter of 768 x 768 in bf16 has 7,077,888 bytes of f32 moments and master copy.
// They are no longer resident, and the arena holds them while the parameter is updated.
//
// Parameters may lie there as well, as in ZeRO-Infinity: one comes for each op that reads it and is
// then dropped, as the host has it, and its new value leaves. Those that take longer to send for
// than to be sent (bytes / bandwidth below the latency of the link) stay on the device.
//
// Updates may run on the host as well. Then state never travels, gradients are copied to the host,
// and new values of parameters that lie on the device are copied back. A parameter without a master
// copy that lies on the device goes to the host with its gradient, since its update reads it.
//
// Example: of the parameter above in bf16, 1,179,648 bytes of gradient go to the host and as many
// of the new parameter come back, instead of 7,077,888 each way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_STATEONHOST_H
#define LLMMEM_TRANSFORMS_STATEONHOST_H

#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns what copies to the host take: the link that is given, or that of the device's table,
/// with this latency where there is one. Returns nothing where there is no link.
std::optional<planning::HostLink> linkToHost(std::optional<planning::HostLink> given,
                                             std::optional<int64_t> latency,
                                             const DeviceModel &device);

/// Says which arguments move, and whether updates do; updates move only with their state.
struct HostRoles {
  bool optimizerState = true, parameters = false, updates = false;
};

/// Moves each argument of these roles that is no scalar to the host. A host-to-device copy stands
/// before the reader that precedes its own (for a parameter one for each reader, but one for
/// neighbours), and a device-to-host copy into the argument comes after its new value. Updates
/// move as lib/Transforms/UpdatesOnHost.cpp says. Returns how many arguments move. `step` is not
/// planned.
llvm::FailureOr<int64_t> moveStateToHost(mlir::func::FuncOp step, const planning::HostLink &link,
                                         HostRoles roles = {});

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_STATEONHOST_H
