//===- PlanCheckpoints.h - Decides, reports the outcome, and writes it ------===//

#ifndef LLMMEM_REPORTS_PLANCHECKPOINTS_H
#define LLMMEM_REPORTS_PLANCHECKPOINTS_H

#include "llmmem/Reports/CheckpointOutcome.h"
#include "llmmem/Transforms/Checkpoints.h"

namespace llmmem {

/// Plans `step` with each choice of epilogues that the request leaves open and that changes no bit,
/// makes it what the cheapest plan is for, and writes the plan into it
/// (Transforms/DecideCheckpoints.h). Writes the files and prints the texts that the request asks
/// for. Fails, after a located diagnostic, where the step cannot be planned or no plan was found
/// (then `outcome` says which).
llvm::LogicalResult planCheckpoints(mlir::func::FuncOp step, const StepStorage &storage,
                                    const CheckpointRequest &request, const DeviceModel &device,
                                    CheckpointOutcome &outcome);

} // namespace llmmem

#endif // LLMMEM_REPORTS_PLANCHECKPOINTS_H
