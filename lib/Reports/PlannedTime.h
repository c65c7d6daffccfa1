//===- PlannedTime.h - What the program of a plan takes ---------------------===//
//
// How far collectives and copies overlap other ops is known only once a plan is applied and they
// are started. So a plan is timed by applying it to a copy of the program, which is then discarded.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_REPORTS_PLANNEDTIME_H
#define LLMMEM_LIB_REPORTS_PLANNEDTIME_H

#include "llmmem/Transforms/DecideCheckpoints.h"

namespace llmmem {

/// Returns what a step takes on which a plan is written, by the report of what it becomes, in ns:
/// collectives start early only with `request.overlap`, as in the pipeline. Changes `planned`.
llvm::FailureOr<int64_t> timeOfPlanned(mlir::func::FuncOp planned, const CheckpointRequest &request,
                                       const DeviceModel &device);

/// Returns what `step` takes without a budget, whatever chunks and epilogues it then has, in ns.
/// `decision` is that of `step` under `request`.
llvm::FailureOr<int64_t> timeWithoutBudget(mlir::func::FuncOp step,
                                           const CheckpointRequest &request,
                                           const CheckpointDecision &decision,
                                           const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_LIB_REPORTS_PLANNEDTIME_H
