//===- OffloadDecisions.h - What leaves for the host, asked and written -----===//
//
// This file connects the step with the planner's copies (Planning/Offload/OffloadProblem.h): the
// problem gets the copies that a plan may choose from, and those that it chose become `llm.copies`,
// whose numbers are in `llm.schedule`.
//
// Example: result 0 of op 2 leaves in a step of 10 ops. `llm.copies` is [2, 0, 41, 41], and in the
// schedule 10 is its copy to the host and 11 its copy to the device.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_OFFLOADDECISIONS_H
#define LLMMEM_LIB_TRANSFORMS_OFFLOADDECISIONS_H

#include "llmmem/Transforms/StepVariants.h"

namespace llmmem {

/// Fails after a diagnostic at `step` that no link leads to the host.
llvm::LogicalResult emitNoLink(mlir::func::FuncOp step, const DeviceModel &device);

/// Adds the copies to every form of the step, where the request has a budget of the host. Fails,
/// after a diagnostic at `step`, where no link leads there or the budget holds no value in addition
/// to what updates on the host hold (HostArena.h).
llvm::LogicalResult addHostCopies(mlir::func::FuncOp step, const CheckpointRequest &request,
                                  const DeviceModel &device,
                                  llvm::ArrayRef<StepVariant> alternatives,
                                  planning::VariantSet &variants);

/// Returns the bytes of the host's memory that the arguments of `step` hold, each a multiple of the
/// alignment.
int64_t residentOnHost(mlir::func::FuncOp step);

/// Writes `llm.copies` on `step`, and returns the plan's steps with the numbers of the schedule.
/// `extracted` has the problem with the copies.
llvm::SmallVector<int64_t> writeCopies(mlir::func::FuncOp step, const ExtractedProblem &extracted,
                                       const planning::Plan &plan);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_OFFLOADDECISIONS_H
